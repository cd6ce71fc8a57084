// The row nearest to each centroid, from the labels and distances that the last assignment left behind.
//
// A row x at squared distance a from its own centroid has D(x, c) >= a for every other centroid c. With r the smallest
// D to c so far and p the row nearest to the centroid of x (the pivot of its cluster), x can be nearer to c only if
//
//     a <= r    and    |p - c| - |p - own centroid| <= sqrt(a) + sqrt(r)        (triangle inequality)
//
// Every cluster is searched for its nearest row; the pivots are measured in ascending order of their distances, so that
// r soon excludes most; then the rows that pass both tests. Cost: one pass over 12 bytes per row, and distances by the
// definition: at most k^2 / 2 for the pivots, and few for rows. Where they are many, a general search takes over: for
// the few centroids that have most of them, such as those of a few far rows with most others between them, or for all.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "core/bounds.h"
#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A cluster with rows.
struct Pivot {
  Neighbor nearest{kInfinity, -1};  // its row nearest to its centroid, the pivot
  double second = kInfinity;        // the smallest D of its other rows
  double farthest = 0.0;            // the largest
  std::int32_t cluster = 0;
  double lowest = kInfinity, highest = -1.0;  // between them are sqrt(D) and D of the rows that pass for some centroid
};

/// A centroid whose nearest row may be one of the cluster of a pivot, though not the pivot.
struct Pair {
  double apart;  // lower bound of |pivot - centroid| - |pivot - its own centroid|
  std::int32_t centroid, pivot;
};

/// What a task of pivots finds.
struct Measured {
  std::vector<Pair> pairs;
  std::vector<std::pair<std::int32_t, Neighbor>> nearer;  // a centroid, and a pivot nearer than the best
  std::int64_t candidates = 0;
};

template <class T>
class NearestRowFinder {
 public:
  NearestRowFinder(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result)
      : held_(held),
        centroids_(request.centroids),
        result_(result),
        reach_(result.best.size()),
        pivot_of_(result.best.size(), -1),
        limit_(max_nearest_candidates(held.rows(), clusters())) {}

  /// False if there are too many candidates: then the result holds rows that are near, not nearest.
  bool run() {
    find_pivots();
    if (!measure_pivots()) return false;
    if (pairs_.empty()) return true;
    gather_rows();
    if (!search_costly()) return false;
    measure_rows();
    return true;
  }

 private:
  std::int64_t clusters() const { return centroids_.rows; }
  double distance(std::int64_t row, std::int64_t c) const {
    return held_.set.template rows<T>().distance(held_.row(row - held_.first_row), centroids_.row(c).data(),
                                                 held_.columns());
  }
  double at_most(double squared) const { return distance_at_most(squared, held_.columns()); }

  /// The nearest and the farthest row of every cluster.
  void find_pivots() {
    std::vector<std::vector<Pivot>> parts(static_cast<std::size_t>(held_.threads.count()));
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
      std::vector<Pivot>& part = parts[thread];
      part.resize(static_cast<std::size_t>(clusters()));
      for (std::int64_t i = first; i < last; ++i) add({{held_.distance[i], held_.first_row + i}}, part[held_.label[i]]);
    });
    for (std::int64_t c = 0; c < clusters(); ++c) {
      Pivot all;
      for (const std::vector<Pivot>& part : parts) {
        if (!part.empty()) add(part[c], all);
      }
      all.cluster = static_cast<std::int32_t>(c);
      if (all.nearest.row >= 0) pivots_.push_back(all);
    }
    std::sort(pivots_.begin(), pivots_.end(), [](const Pivot& a, const Pivot& b) { return a.nearest < b.nearest; });
    for (std::size_t p = 0; p < pivots_.size(); ++p) {
      const Pivot& pivot = pivots_[p];
      pivot_of_[pivot.cluster] = static_cast<std::int32_t>(p);
      result_.best[pivot.cluster] = std::min(result_.best[pivot.cluster], pivot.nearest);
    }
    for (std::int64_t c = 0; c < clusters(); ++c) reach_[c] = at_most(result_.best[c].distance);
  }
  static void add(const Pivot& part, Pivot& all) {
    if (part.nearest.row < 0) return;
    const bool is_nearer = part.nearest < all.nearest;
    all.second = std::min(is_nearer ? all.nearest.distance : part.nearest.distance, std::min(all.second, part.second));
    if (is_nearer) all.nearest = part.nearest;
    all.farthest = std::max({all.farthest, part.farthest, part.nearest.distance});
  }

  /// Measures the pivots and lists the pairs whose rows may be nearest. False if there are too many.
  bool measure_pivots() {
    constexpr std::int64_t kFirstPivots = 32, kMaxPairs = std::int64_t{1} << 20, kMinWork = 250'000;
    const auto count = static_cast<std::int64_t>(pivots_.size());
    const std::int64_t most = std::max<std::int64_t>(kMaxPairs / clusters(), 1);
    const std::int64_t each = kMinWork / (clusters() * held_.columns()) + 1;  // pivots per task
    std::vector<Measured> measured;
    for (std::int64_t first = 0, size = kFirstPivots; first < count; first += size, size = std::min(2 * size, most)) {
      const std::int64_t last = std::min(first + size, count);
      measured.resize(static_cast<std::size_t>(ceil_div(last - first, each)));
      held_.threads.run(static_cast<std::int64_t>(measured.size()), [&](std::int64_t task, int) {
        measured[task] = {};
        for (std::int64_t p = first + task * each; p < std::min(first + (task + 1) * each, last); ++p) {
          measure_pivot(p, measured[task]);
        }
      });
      for (const Measured& part : measured) {
        for (const auto& [centroid, neighbor] : part.nearer) improve(centroid, neighbor);
        pairs_.insert(pairs_.end(), part.pairs.begin(), part.pairs.end());
        result_.candidates += part.candidates;
      }
      const auto kept = static_cast<std::int64_t>(pairs_.size());
      if (last < count && (result_.candidates > limit_ || kept > kMaxPairs + 8 * held_.rows())) return false;
    }
    sort_pairs();
    return true;
  }
  /// Removes pairs that no longer pass, and sorts the others by centroid, then by pivot.
  void sort_pairs() {
    std::erase_if(pairs_, [&](const Pair& pair) { return !passes(pair); });
    first_pair_.assign(static_cast<std::size_t>(clusters() + 1), 0);
    for (const Pair& pair : pairs_) ++first_pair_[pair.centroid + 1];
    for (std::int64_t c = 0; c < clusters(); ++c) first_pair_[c + 1] += first_pair_[c];
    std::vector<Pair> sorted(pairs_.size());
    std::vector<std::int64_t> next = first_pair_;
    for (const Pair& pair : pairs_) sorted[next[pair.centroid]++] = pair;
    pairs_ = std::move(sorted);
  }
  void measure_pivot(std::int64_t p, Measured& measured) const {
    const Pivot& pivot = pivots_[p];
    const double own = at_most(pivot.nearest.distance), farthest = at_most(pivot.farthest);
    for (std::int64_t c = 0; c < clusters(); ++c) {
      const Neighbor& best = result_.best[c];
      if (c == pivot.cluster || !(pivot.nearest < best)) continue;
      const Neighbor neighbor{distance(pivot.nearest.row, c), pivot.nearest.row};
      ++measured.candidates;
      if (neighbor < best) measured.nearer.emplace_back(static_cast<std::int32_t>(c), neighbor);
      if (pivot.second > best.distance) continue;
      const Pair pair{distance_at_least(neighbor.distance, held_.columns()) - own, static_cast<std::int32_t>(c),
                      static_cast<std::int32_t>(p)};
      if (!(std::min(farthest, reach_[c]) < least_reach(pair))) measured.pairs.push_back(pair);
    }
  }
  void improve(std::int64_t c, const Neighbor& neighbor) {
    if (!(neighbor < result_.best[c])) return;
    result_.best[c] = neighbor;
    reach_[c] = at_most(neighbor.distance);
  }

  /// A lower bound of |x - own centroid| of the rows of the pair that can be nearer to its centroid than the best.
  double least_reach(const Pair& pair) const { return rounded_down(pair.apart) - reach_[pair.centroid]; }
  bool passes(const Pair& pair) const {
    return !(pivots_[pair.pivot].second > result_.best[pair.centroid].distance) &&
           !(reach_[pair.centroid] < least_reach(pair));
  }

  /// Gathers the rows, except pivots, that some pair lets pass, by pivot and ascending distance.
  void gather_rows() {
    struct Row {
      Neighbor own;
      std::int32_t pivot;
    };
    for (const Pair& pair : pairs_) {
      Pivot& pivot = pivots_[pair.pivot];
      pivot.lowest = std::min(pivot.lowest, std::max(least_reach(pair), 0.0));
      pivot.highest = std::max(pivot.highest, result_.best[pair.centroid].distance);
    }
    std::vector<std::vector<Row>> parts(static_cast<std::size_t>(held_.threads.count()));
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int32_t p = pivot_of_[held_.label[i]];
        const double own = held_.distance[i];
        if (own > pivots_[p].highest || at_most(own) < pivots_[p].lowest) continue;
        if (held_.first_row + i == pivots_[p].nearest.row) continue;
        parts[thread].push_back({{own, held_.first_row + i}, p});
      }
    });
    first_.assign(pivots_.size() + 1, 0);
    for (const std::vector<Row>& part : parts) {
      for (const Row& row : part) ++first_[row.pivot + 1];
    }
    for (std::size_t p = 0; p < pivots_.size(); ++p) first_[p + 1] += first_[p];
    rows_.resize(static_cast<std::size_t>(first_.back()));
    std::vector<std::int64_t> next = first_;
    for (const std::vector<Row>& part : parts) {
      for (const Row& row : part) rows_[next[row.pivot]++] = row.own;
    }
    held_.threads.run(static_cast<std::int64_t>(pivots_.size()), [&](std::int64_t p, int) {
      std::sort(rows_.begin() + first_[p], rows_.begin() + first_[p + 1]);
    });
  }

  using Rows = std::vector<Neighbor>::const_iterator;
  std::pair<Rows, Rows> passing_rows(const Pair& pair) const {
    const Rows begin = rows_.begin() + first_[pair.pivot], end = rows_.begin() + first_[pair.pivot + 1];
    const double least = least_reach(pair);
    const Rows last = std::lower_bound(begin, end, result_.best[pair.centroid]);
    if (!(least > 0.0)) return {begin, last};
    return {std::partition_point(begin, last, [&](const Neighbor& row) { return at_most(row.distance) < least; }),
            last};
  }

  /// Searches all rows for the centroids with many candidates, if products cost less than the definition for these.
  /// False if too many centroids or candidates remain.
  bool search_costly() {
    std::vector<std::int64_t> candidates(static_cast<std::size_t>(clusters()));
    for (const Pair& pair : pairs_) {
      const auto [first, last] = passing_rows(pair);
      candidates[pair.centroid] += last - first;
    }
    const auto n = static_cast<double>(held_.rows());
    std::vector<std::int64_t> costly;
    std::int64_t all = 0, others = 0;
    for (std::int64_t c = 0; c < clusters(); ++c) {
      const bool is_costly = kDefinitionCost * static_cast<double>(candidates[c]) > n;
      all += candidates[c];
      if (is_costly) costly.push_back(c);
      if (!is_costly) others += candidates[c];
    }
    const double products = n * (kPackCost + static_cast<double>(std::ssize(costly)));
    if (products > kDefinitionCost * static_cast<double>(all - others)) {
      costly.clear();
      others = all;
    }
    if (result_.candidates + others > limit_ || 2 * std::ssize(costly) > clusters()) return false;
    if (!costly.empty()) search_for(costly);
    return true;
  }
  void search_for(const std::vector<std::int64_t>& costly) {
    const std::int64_t count = std::ssize(costly);
    Matrix<double> queries(count, held_.columns());
    NeighborLists lists(count, 1);
    for (std::int64_t q = 0; q < count; ++q) {
      const Neighbor& best = result_.best[costly[q]];
      std::ranges::copy(centroids_.row(costly[q]), queries.row(q).begin());
      lists.distance(q, 0) = best.distance;
      lists.index(q, 0) = best.row;
    }
    // Without a tree or cells, which would take more time than the few queries.
    search(held_, {.values = std::as_const(queries).view(), .host_bytes = 0, .cell_bytes = 0}, lists);
    searched_.resize(static_cast<std::size_t>(clusters()));
    for (std::int64_t q = 0; q < count; ++q) {
      result_.best[costly[q]] = {lists.distance(q, 0), lists.index(q, 0)};
      searched_[costly[q]] = true;
    }
    result_.candidates += lists.candidates;
    result_.searched += count;
  }

  /// Measures the rows of all pairs, except those of searched centroids. A task has whole centroids, so that no two
  /// tasks share a result.
  void measure_rows() {
    constexpr std::int64_t kEach = 32;  // centroids per task
    std::atomic<std::int64_t> candidates = 0;
    held_.threads.run(ceil_div(clusters(), kEach), [&](std::int64_t task, int) {
      std::int64_t measured = 0;
      const std::int64_t last_centroid = std::min((task + 1) * kEach, clusters());
      for (std::int64_t i = first_pair_[task * kEach]; i < first_pair_[last_centroid]; ++i) {
        const std::int64_t c = pairs_[i].centroid;
        if (!searched_.empty() && searched_[c]) continue;
        auto [row, last] = passing_rows(pairs_[i]);
        for (; row != last && *row < result_.best[c]; ++row, ++measured) {
          improve(c, {distance(row->row, c), row->row});
        }
      }
      candidates += measured;
    });
    result_.candidates += candidates;
  }

  const HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  NearestRows& result_;
  std::vector<double> reach_;             // (k) upper bound of the distance of the best row
  std::vector<std::int32_t> pivot_of_;    // (k) the pivot of a cluster
  std::vector<Pivot> pivots_;             // by Pivot::nearest
  std::vector<Pair> pairs_;               // those that pass; after sort_pairs() by centroid
  std::vector<std::int64_t> first_pair_;  // (k + 1) begin of the pairs of each centroid
  std::vector<Neighbor> rows_;            // by pivot, then by D to the own centroid
  std::vector<std::int64_t> first_;       // (pivots + 1) begin of the rows of each pivot
  std::int64_t limit_;                    // of candidates
  std::vector<bool> searched_;            // (k) centroids that were searched, or empty
};

}  // namespace

template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result) {
  NearestRows found(request.centroids.rows);
  found.best = result.best;
  const bool is_complete = NearestRowFinder<T>(held, request, found).run();
  result.best = std::move(found.best);
  result.candidates += found.candidates;
  result.searched += found.searched;
  return is_complete;
}

#define KITH_INSTANTIATE(T) template bool nearest_rows(const HeldRows<T>&, const NearestRowsRequest&, NearestRows&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
