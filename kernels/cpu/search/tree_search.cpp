// Searches a k-d tree for groups of near queries: O(log n) nodes and O(k) rows a query if rows lie near few dimensions,
// and up to n otherwise (choice/search.cpp).
//
// A group reads each row that is relevant to one of its queries once. Queries from outside are sorted by the leaf that
// they would be in, and these leaves are searched first, since the k-th nearest row so far is what leaves nodes out.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "kernels/cpu/choice/search.h"
#include "kernels/cpu/runtime/lists.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {

bool operator<(const TreeHit& a, const TreeHit& b) {
  return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
}

namespace {

constexpr std::int64_t kGroupsPerTask = 16;

/// A group of queries that search a tree together, in the memory of a thread.
class TreeQueries {
 public:
  /// neighbors: k of the lists; 0 for a search with limits that do not change. on_full: called when the log is full
  /// and at the end; empties it.
  TreeQueries(const TreeSearcher& searcher, Measure measure, std::int64_t neighbors,
              std::function<void(TreeQueries&)> on_full)
      : searcher_(searcher),
        d_(searcher.tree.columns),
        k_(neighbors),
        search_(searcher.tree.is_narrow() ? searcher.set.tree.narrow.of(measure, d_)
                                          : searcher.set.tree.wide.of(measure, d_)),
        on_full_(std::move(on_full)) {
    constexpr std::int64_t kMostSorted = 32;  // longer lists are selected from the log
    const std::int64_t capacity = std::max<std::int64_t>(256, 2 * neighbors);
    queries_.resize(static_cast<std::size_t>(d_ * kTreeQueries));
    narrow_queries_.resize(queries_.size());
    center_.resize(static_cast<std::size_t>(d_));
    logged_.resize(static_cast<std::size_t>(capacity * kTreeQueries));
    logged_row_.resize(static_cast<std::size_t>(capacity));
    hits_.resize(static_cast<std::size_t>((k_ + capacity) * kTreeQueries));
    if (k_ > 0 && k_ <= kMostSorted) nearest_.resize(static_cast<std::size_t>(k_ * kTreeQueries));
    group_.queries = queries_.data();
    group_.narrow_queries = narrow_queries_.data();
    group_.rounding = rounding_;
    group_.narrow_limit = narrow_limit_;
    group_.center = center_.data();
    group_.limit = limit_;
    group_.tie_limit = tie_limit_;
    group_.tie_row = tie_row_;
    group_.nearest = nearest_.empty() ? nullptr : nearest_.data();
    group_.neighbors = k_;
    group_.logged = logged_.data();
    group_.logged_row = logged_row_.data();
    group_.log_capacity = capacity;
    group_.hits = hits_.data();
    group_.hit_capacity = k_ + capacity;
    group_.seeds = seeds_;
    group_.on_full = [](void* owner) { static_cast<TreeQueries*>(owner)->on_full(); };
    group_.owner = this;
  }
  TreeQueries(const TreeQueries&) = delete;
  TreeQueries& operator=(const TreeQueries&) = delete;

  /// Begins with `count` queries, at most kTreeQueries; value(lane, column).
  template <class Value>
  void begin(int count, double limit, const Value& value) {
    count_ = count;
    group_.is_rounded = false;
    std::fill_n(rounding_, kTreeQueries, 0.0);
    for (std::int64_t j = 0; j < d_; ++j) {
      double sum = 0.0, low = kInfinity, high = -kInfinity;
      for (int lane = 0; lane < kTreeQueries; ++lane) {
        const double v = value(std::min(lane, count - 1), j);
        const auto narrow = static_cast<float>(v);
        queries_[j * kTreeQueries + lane] = v;
        narrow_queries_[j * kTreeQueries + lane] = narrow;
        rounding_[lane] += std::abs(v - static_cast<double>(narrow));
        sum += v / kTreeQueries;
        low = std::min(low, v);
        high = std::max(high, v);
      }
      center_[j] = std::clamp(sum, low, high);  // of equal rows: their value, so that ties go to the lowest rows first
    }
    for (int lane = 0; lane < kTreeQueries; ++lane) {
      group_.is_rounded |= rounding_[lane] != 0.0;
      rounding_[lane] *= 1 + static_cast<double>(d_) * 0x1p-50;
      limit_[lane] = lane < count ? limit : -kInfinity;
      tie_limit_[lane] = tie_row_[lane] = kInfinity;
      group_.hit_count[lane] = 0;
    }
    for (std::size_t i = 0; i < nearest_.size(); ++i)
      nearest_[i] = static_cast<int>(i % kTreeQueries) < count ? kInfinity : -kInfinity;
    group_.log_size = group_.seed_count = 0;
  }
  /// A leaf that is searched before others.
  void add_seed(std::int32_t leaf) {
    const std::int32_t* end = seeds_ + group_.seed_count;
    if (std::find<const std::int32_t*>(seeds_, end, leaf) == end) seeds_[group_.seed_count++] = leaf;
  }
  /// Adds an entry of an earlier list, in the order of that list.
  void add_earlier(int lane, TreeHit hit) {
    std::int64_t& count = group_.hit_count[lane];
    if (!nearest_.empty()) nearest_[count * kTreeQueries + lane] = hit.distance;
    group_.hits[lane * group_.hit_capacity + count++] = hit;
    if (count == k_) limit_[lane] = hit.distance;
  }
  void search() {
    search_(searcher_.tree.view(), group_);
    on_full();
  }

  int count() const { return count_; }
  /// Moves the log to the hits.
  void drain() { searcher_.set.tree.drain(group_); }
  /// The hits of a lane, unsorted.
  std::span<TreeHit> hits(int lane) {
    return {group_.hits + lane * group_.hit_capacity, static_cast<std::size_t>(group_.hit_count[lane])};
  }
  void clear_hits() { std::fill_n(group_.hit_count, kTreeQueries, 0); }
  /// Moves the log to the hits and keeps the k nearest of each lane, which bound those that follow.
  void keep_nearest() {
    drain();
    if (k_ == 0) return;
    for (int lane = 0; lane < count_; ++lane) {
      const std::span<TreeHit> all = hits(lane);
      if (std::ssize(all) < k_) continue;
      if (std::ssize(all) > k_) std::nth_element(all.begin(), all.begin() + (k_ - 1), all.end());
      const TreeHit last = std::ssize(all) > k_ ? all[k_ - 1] : *std::max_element(all.begin(), all.end());
      group_.hit_count[lane] = k_;
      limit_[lane] = tie_limit_[lane] = last.distance;
      tie_row_[lane] = static_cast<double>(last.row);
    }
  }
  TreeWork work() const { return {group_.distances * kTreeQueries, group_.visited * kTreeQueries}; }

 private:
  void on_full() { on_full_(*this); }

  const TreeSearcher& searcher_;
  std::int64_t d_, k_;
  TreeKernels::Search search_;
  std::function<void(TreeQueries&)> on_full_;
  TreeGroup group_{};
  std::vector<double> queries_, center_, logged_, nearest_;
  std::vector<float> narrow_queries_;
  std::vector<std::int32_t> logged_row_;
  std::vector<TreeHit> hits_;
  float narrow_limit_[kTreeQueries];
  double rounding_[kTreeQueries];
  double limit_[kTreeQueries], tie_limit_[kTreeQueries], tie_row_[kTreeQueries];
  std::int32_t seeds_[kTreeQueries];
  int count_ = 0;
};

/// One TreeQueries per thread, made on demand.
class ThreadQueries {
 public:
  explicit ThreadQueries(const Threads& threads) : own_(static_cast<std::size_t>(threads.count())) {}
  template <class Make>
  TreeQueries& of(int thread, const Make& make) {
    if (own_[thread] == nullptr) own_[thread] = make();
    return *own_[thread];
  }
  TreeWork work() const {
    TreeWork sum;
    for (const auto& each : own_) {
      if (each != nullptr) sum += each->work();
    }
    return sum;
  }

 private:
  std::vector<std::unique_ptr<TreeQueries>> own_;
};

std::unique_ptr<TreeQueries> nearest_queries(const TreeSearcher& searcher, Measure measure, std::int64_t k) {
  return std::make_unique<TreeQueries>(searcher, measure, k, [](TreeQueries& queries) { queries.keep_nearest(); });
}

/// Sorts the hits of a lane and writes the list of query q. excluded: a row, relative to the tree's, or -1.
void write(TreeQueries& queries, int lane, std::int64_t excluded, std::int64_t first_row, std::int64_t q,
           NeighborLists& lists) {
  const std::span<TreeHit> hits = queries.hits(lane);
  std::sort(hits.begin(), hits.end());
  std::int64_t place = 0;
  double* distance = lists.distance.row(q).data();
  std::int64_t* index = lists.index.row(q).data();
  for (const TreeHit& hit : hits) {
    if (hit.row == excluded) continue;
    if (place == lists.index.columns()) break;
    distance[place] = hit.distance;
    index[place++] = first_row + hit.row;
  }
  std::fill(distance + place, distance + lists.index.columns(), kInfinity);
  std::fill(index + place, index + lists.index.columns(), -1);
}

/// Queries sorted by the leaf that they would be in.
class SortedQueries {
 public:
  SortedQueries(const TreeSearcher& searcher, MatrixView<const double> queries)
      : queries_(queries), order_(static_cast<std::size_t>(queries.rows)) {
    constexpr std::int64_t kPart = 1024;
    searcher.threads.run(ceil_div(queries.rows, kPart), [&](std::int64_t task, int) {
      for (std::int64_t q = task * kPart; q < std::min((task + 1) * kPart, queries.rows); ++q)
        order_[q] = {searcher.tree.leaf_of(queries.row(q).data()), static_cast<std::int32_t>(q)};
    });
    std::sort(order_.begin(), order_.end());
  }

  std::int64_t groups() const { return ceil_div(queries_.rows, kTreeQueries); }
  /// Number of the query in a lane of a group.
  std::int64_t query(std::int64_t group, int lane) const { return order_[group * kTreeQueries + lane].second; }
  void begin(std::int64_t number, double limit, TreeQueries& group) const {
    const auto* own = order_.data() + number * kTreeQueries;
    const std::int64_t count = std::min<std::int64_t>(kTreeQueries, queries_.rows - number * kTreeQueries);
    group.begin(static_cast<int>(count), limit,
                [&](int lane, std::int64_t j) { return queries_(own[lane].second, j); });
    for (std::int64_t lane = 0; lane < count; ++lane) group.add_seed(own[lane].first);
  }

 private:
  MatrixView<const double> queries_;
  std::vector<std::pair<std::int32_t, std::int32_t>> order_;  // leaf, query
};

/// Searches for groups of sorted queries: begin(queries, thread, lane, q) and end(queries, lane, q) for each query.
template <class Make, class Begin, class End>
TreeWork for_groups(const TreeSearcher& searcher, const Queries& queries, double limit, const Make& make,
                    const Begin& begin, const End& end) {
  const SortedQueries sorted(searcher, queries.values);
  ThreadQueries workspaces(searcher.threads);
  searcher.threads.run(sorted.groups(), [&](std::int64_t task, int thread) {
    TreeQueries& group = workspaces.of(thread, [&] { return make(thread); });
    sorted.begin(task, limit, group);
    for (int lane = 0; lane < group.count(); ++lane) begin(group, thread, lane, sorted.query(task, lane));
    group.search();
    for (int lane = 0; lane < group.count(); ++lane) end(group, lane, sorted.query(task, lane));
  });
  return workspaces.work();
}

/// Searches for the rows of group `number` of the tree.
void search_own_group(TreeQueries& queries, const SearchTree& tree, std::int64_t number) {
  const std::int64_t first = number * kTreeQueries;
  queries.begin(static_cast<int>(std::min<std::int64_t>(kTreeQueries, tree.size() - first)), kInfinity,
                [&](int lane, std::int64_t j) { return tree.value(first + lane, j); });
  queries.add_seed(tree.leaf_at(first));
  queries.search();
}

/// Fetches the lists of the rows of a group, which are scattered over memory, while these are searched for.
void prefetch(NeighborLists& lists, const SearchTree& tree, std::int64_t group) {
  constexpr std::int64_t kLine = 64 / sizeof(double), kMostLines = 4;
  const std::int64_t places = std::min(lists.index.columns(), kMostLines * kLine);
  const std::int64_t end = std::min((group + 1) * kTreeQueries, tree.size());
  for (std::int64_t position = group * kTreeQueries; position < end; ++position) {
    for (std::int64_t place = 0; place < places; place += kLine) {
      __builtin_prefetch(&lists.distance(tree.numbers[position], place), 1);
      __builtin_prefetch(&lists.index(tree.numbers[position], place), 1);
    }
  }
}

}  // namespace

TreeWork search_tree(const TreeSearcher& searcher, const Queries& queries, NeighborLists& lists) {
  const std::int64_t k = lists.index.columns(), first_row = searcher.first_row;
  const bool excludes = queries.excluded_row >= 0;
  return for_groups(
      searcher, queries, kInfinity,
      [&](int) { return nearest_queries(searcher, queries.measure, k + (excludes ? 1 : 0)); },
      [&](TreeQueries& group, int, int lane, std::int64_t q) {
        for (std::int64_t i = 0; i < k && lists.index(q, i) >= 0; ++i)
          group.add_earlier(lane, {lists.distance(q, i), lists.index(q, i) - first_row});
      },
      [&](TreeQueries& group, int lane, std::int64_t q) {
        // A difference, which is never the number of a row if nothing is excluded.
        const std::int64_t excluded =
            excludes ? queries.excluded_row + q - first_row : std::numeric_limits<std::int64_t>::min();
        write(group, lane, excluded, first_row, q, lists);
      });
}

NeighborLists join_tree(const TreeSearcher& searcher, const SelfJoin& join) {
  const SearchTree& tree = searcher.tree;
  NeighborLists lists(0, 0);  // the threads that write the lists touch their memory first
  lists.distance = Matrix<double>(tree.size(), join.neighbors);
  lists.index = Matrix<std::int64_t>(tree.size(), join.neighbors);
  const std::int64_t tasks = ceil_div(ceil_div(tree.size(), kTreeQueries), kGroupsPerTask);
  const std::int64_t rounds = std::clamp<std::int64_t>(tasks / (8 * searcher.threads.count()), 1, 20);
  ThreadQueries workspaces(searcher.threads);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t begin = tasks * round / rounds, end = tasks * (round + 1) / rounds;
    searcher.threads.run(end - begin, [&](std::int64_t task, int thread) {
      TreeQueries& group = workspaces.of(thread, [&] {
        return nearest_queries(searcher, join.measure, join.neighbors + (join.include_self ? 0 : 1));
      });
      const std::int64_t first = (begin + task) * kGroupsPerTask;
      for (std::int64_t g = first; g < first + kGroupsPerTask && g * kTreeQueries < tree.size(); ++g) {
        prefetch(lists, tree, g);
        search_own_group(group, tree, g);
        for (int lane = 0; lane < group.count(); ++lane) {
          const std::int64_t row = tree.numbers[g * kTreeQueries + lane];
          write(group, lane, join.include_self ? -1 : row, searcher.first_row, row, lists);
        }
      }
    });
    if (join.progress) join.progress(std::min(end * kGroupsPerTask * kTreeQueries, tree.size()));
  }
  lists.candidates += workspaces.work().distances;
  return lists;
}

TreeWork search_tree_radius(const TreeSearcher& searcher, const Queries& queries, RadiusLists& lists) {
  std::atomic<std::int64_t> reserved{lists.total()};
  const std::int64_t threads = searcher.threads.count();
  std::vector<StoredRows> stored(static_cast<std::size_t>(threads), StoredRows(reserved, lists.capacity, threads));
  std::vector<std::vector<std::int64_t>> query_of(static_cast<std::size_t>(searcher.threads.count()));
  const auto make = [&](int thread) {
    query_of[thread].resize(kTreeQueries);
    return std::make_unique<TreeQueries>(searcher, queries.measure, 0, [&, thread](TreeQueries& group) {
      group.drain();
      for (int lane = 0; lane < group.count(); ++lane) {
        const std::int64_t q = query_of[thread][lane];
        for (const TreeHit& hit : group.hits(lane)) {
          const std::int64_t row = searcher.first_row + hit.row;
          if (row < lists.first_row || (queries.excluded_row >= 0 && row == queries.excluded_row + q)) continue;
          ++lists.counts[q];
          if (stored[thread].may_store()) lists.rows[q].push_back({hit.distance, row});
        }
      }
      group.clear_hits();
    });
  };
  return for_groups(
      searcher, queries, lists.limit, make,
      [&](TreeQueries&, int thread, int lane, std::int64_t q) { query_of[thread][lane] = q; },
      [](TreeQueries&, int, std::int64_t) {});
}

template <class T>
TreeSample sample_tree(const HeldRows<T>& held, const SearchRequest& request, std::int64_t rows) {
  constexpr std::int64_t kGroups = 12;
  const std::int64_t n = held.rows(), d = held.columns(), all = request.queries.values.rows, k = request.neighbors;
  Matrix<T> sample(rows, d);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(held.row(n * i / rows), d, sample.row(i).data());
  Threads one(1);
  const SearchTree tree = make_tree(std::as_const(sample).view(), one);
  // As many queries for each row as in the search, so that groups are as wide.
  const std::int64_t count = std::clamp<std::int64_t>(all * rows / n, std::min<std::int64_t>(all, kTreeQueries), rows);
  Matrix<double> queries(count, d);
  for (std::int64_t i = 0; i < count; ++i) {
    if (request.is_join) {
      std::copy_n(sample.row(i).data(), d, queries.row(i).data());
    } else {
      std::copy_n(request.queries.values.row(all * i / count).data(), d, queries.row(i).data());
    }
  }
  const TreeSearcher searcher{tree, 0, held.set, one};
  TreeQueries group(searcher, request.queries.measure, k, [&](TreeQueries& full) {
    full.keep_nearest();
    if (k == 0) full.clear_hits();
  });
  const SortedQueries sorted(searcher, std::as_const(queries).view());
  const std::int64_t groups = std::min(kGroups, sorted.groups());
  double searched = 0.0;
  for (std::int64_t i = 0; i < groups; ++i) {
    sorted.begin(sorted.groups() * i / groups, k > 0 ? kInfinity : request.limit, group);
    group.search();
    searched += group.count();
  }
  const TreeWork work = group.work();
  return {static_cast<double>(work.distances) / searched, static_cast<double>(work.visits) / searched};
}

#define KITH_INSTANTIATE(T) template TreeSample sample_tree(const HeldRows<T>&, const SearchRequest&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
