// The row nearest to each centroid, from the labels and distances that the last assignment left behind.
//
// A row x at squared distance a from its own centroid has D(x, c) >= a for every other centroid c. With r the smallest
// D to c so far and p the row nearest to the centroid of x (the pivot of its cluster), x can be nearer to c only if
//
//     a <= r    and    |p - c| - |p - own centroid| <= sqrt(a) + sqrt(r)        (triangle inequality)
//
// The pivots are measured in groups of doubling size, and a matrix holds |pivot - centroid| - |pivot - its own
// centroid| of a slab of pivots. The rows that pass are listed, counted, and measured twice: first for the smallest D,
// then for the lowest row that has it. Reads 12 bytes per row and a few rows: 0.01 ms for 10^6 rows on an H200, k^2 d
// float64 operations, and three waits of the host.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Word kNoRow = ~Word{0};

__device__ double value_of(Word bits) { return __longlong_as_double(static_cast<long long>(bits)); }
/// A value that other threads lower, read from the second-level cache. An old value only excludes fewer rows.
__device__ double current(const Word* bits) { return value_of(__ldcg(bits)); }

__device__ void lower(Word* to, Word value) {
  if (value < __ldcg(to)) atomicMin(to, value);
}

/// Distances from one row to those of 32 centroids (.., d) whose bit is set in `chosen`. take(bit, distance): called by
/// one lane for each.
template <class X, class Take>
__device__ void measure_chosen(unsigned chosen, const X* row, const double* centroids, std::int64_t d,
                               const Take& take) {
  constexpr int kTogether = 4;
  constexpr int kLanesEach = kWarp / kTogether;
  const X* x[1] = {row};
  while (chosen != 0) {
    const double* c[kTogether];
    int bit = 0, mine = -1;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (chosen != 0) {
        bit = __ffs(static_cast<int>(chosen)) - 1;
        chosen &= chosen - 1;
        if (lane_index() == i * kLanesEach) mine = bit;
      }
      c[i] = centroids + bit * d;
    }
    double sum[kTogether];
    accumulate_grid(x, c, d, sum);
    const double distance = add_lanes<kTogether>(sum);
    if (mine >= 0) take(mine, distance);
  }
}

/// The smallest D of the rows of each cluster; then the lowest row that has it.
__global__ void own_distance_kernel(const double* distance, const std::int32_t* label, std::int64_t rows, Word* best) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) lower(&best[label[i]], bits_of(distance[i]));
}
__global__ void own_row_kernel(const double* distance, const std::int32_t* label, std::int64_t rows, Word first_row,
                               const Word* best, Word* row) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    if (bits_of(distance[i]) == best[label[i]]) lower(&row[label[i]], first_row + static_cast<Word>(i));
  }
}

/// Centroids, and the nearest row so far of each.
struct Nearest {
  const double* centroids;  // (k, d)
  std::int64_t k, d;
  Word* best;  // (k) bits of D
  Word* row;   // (k)

  __device__ std::int64_t parts() const { return (k + kWarp - 1) / kWarp; }  // groups of centroids, one per lane
};

/// The pivots: per cluster with rows its row nearest to its centroid, by ascending distance.
struct Pivots {
  const double* values;         // (p, d)
  const double* distance;       // (p) D to their own centroids
  const std::int32_t* cluster;  // (p)
  const Word* row;              // (p)
  const std::int32_t* of;       // (k) index of a cluster's pivot; -1: the cluster is empty
};

/// Pivots whose distances to all centroids are on the device.
struct Slab {
  std::int64_t first = 0, count = 0;
  double* apart = nullptr;  // (count, k) lower bound of |pivot - centroid| - |pivot - its own centroid|; +inf: excluded
  double* range = nullptr;  // (count, 2) between them are sqrt(D) and D of the rows that pass for some centroid
};

/// Measures pivots first .. first + count - 1, for the slab if it has memory.
__global__ void pivot_kernel(Pivots pivots, std::int64_t first, std::int64_t count, Nearest nearest, Slab slab,
                             Word* measured) {
  Word total = 0;
  for (std::int64_t item = warp_index(); item < count * nearest.parts(); item += warp_count()) {
    const std::int64_t p = first + item / nearest.parts(), base = item % nearest.parts() * kWarp;
    const std::int64_t c = base + lane_index();
    const double own = pivots.distance[p];
    double* apart = slab.apart == nullptr ? nullptr : slab.apart + (p - slab.first) * nearest.k;
    const bool passes = c < nearest.k && c != pivots.cluster[p] && !(own > current(&nearest.best[c]));
    if (apart != nullptr && c < nearest.k && !passes) apart[c] = kInfinity;
    const unsigned chosen = __ballot_sync(kAllLanes, passes);
    total += static_cast<Word>(__popc(chosen));
    measure_chosen(chosen, pivots.values + p * nearest.d, nearest.centroids + base * nearest.d, nearest.d,
                   [&](int bit, double distance) {
                     lower(&nearest.best[base + bit], bits_of(distance));
                     if (apart == nullptr) return;
                     apart[base + bit] = distance_at_least(distance, nearest.d) - distance_at_most(own, nearest.d);
                   });
  }
  if (lane_index() == 0 && total > 0) atomicAdd(measured, total);
}

/// A warp per pivot: the range of the distances of its rows that pass for some centroid.
__global__ void range_kernel(Nearest nearest, Slab slab) {
  for (std::int64_t p = warp_index(); p < slab.count; p += warp_count()) {
    double lowest = kInfinity, highest = -1.0;
    for (std::int64_t c = lane_index(); c < nearest.k; c += kWarp) {
      const double best = current(&nearest.best[c]), reach = distance_at_most(best, nearest.d);
      const double least = rounded_down(slab.apart[p * nearest.k + c]) - reach;
      if (least > reach) continue;
      lowest = fmin(lowest, least > 0.0 ? least : 0.0);  // 0 for NaN
      highest = fmax(highest, best);
    }
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) {
      lowest = fmin(lowest, __shfl_xor_sync(kAllLanes, lowest, w));
      highest = fmax(highest, __shfl_xor_sync(kAllLanes, highest, w));
    }
    if (lane_index() == 0) {
      slab.range[2 * p] = lowest;
      slab.range[2 * p + 1] = highest;
    }
  }
}

/// Rows of a block.
struct RowState {
  const double* distance;
  const std::int32_t* label;
  std::int64_t rows;
  Word first_row;  // their numbers
};

/// Lists the rows whose distance is in the range of their pivot.
__global__ void select_kernel(RowState state, Pivots pivots, Slab slab, std::int64_t d, std::int32_t* list,
                              Word* length) {
  for (std::int64_t base = warp_index() * kWarp; base < state.rows; base += warp_count() * kWarp) {
    const std::int64_t i = base + lane_index();
    bool passes = false;
    if (i < state.rows) {
      const std::int64_t p = pivots.of[state.label[i]] - slab.first;
      const double own = state.distance[i];
      passes =
          p >= 0 && p < slab.count && !(own > slab.range[2 * p + 1]) && !(distance_at_most(own, d) < slab.range[2 * p]);
    }
    const Word slot = reserve_slot(passes, length);
    if (passes) list[slot] = static_cast<std::int32_t>(i);
  }
}

enum class Pass { count, distances, rows };

struct RowTask {
  RowState state;
  const std::int32_t* list;  // (count) positions in the block
  std::int64_t count;
  Pivots pivots;
  Slab slab;
  Nearest nearest;
  Word* counted;
};

/// A warp tests a listed row against 32 centroids and measures those that pass. rows: of the block, or the listed ones.
template <class T, Pass P>
__global__ void row_kernel(const __grid_constant__ RowTask task, ChosenValues<T> rows) {
  const Nearest& nearest = task.nearest;
  Word total = 0;
  for (std::int64_t item = warp_index(); item < task.count * nearest.parts(); item += warp_count()) {
    const std::int64_t i = item / nearest.parts(), base = item % nearest.parts() * kWarp;
    const std::int64_t c = base + lane_index(), position = task.list[i];
    const Word row = task.state.first_row + static_cast<Word>(position);
    const double own = task.state.distance[position];
    const std::int64_t p = task.pivots.of[task.state.label[position]];
    bool passes = false;
    if (c < nearest.k) {
      const double best = current(&nearest.best[c]);
      // Only a row with a smaller distance of its own can lower the best; the pivots did so before.
      passes = P == Pass::distances ? !(own >= best) : !(own > best) && row < __ldcg(&nearest.row[c]);
      passes = passes && (P == Pass::rows || row != task.pivots.row[p]);
      if (passes) {
        const double reach = distance_at_most(own, nearest.d) + distance_at_most(best, nearest.d);
        passes = !(rounded_down(task.slab.apart[(p - task.slab.first) * nearest.k + c]) > reach);
      }
    }
    const unsigned chosen = __ballot_sync(kAllLanes, passes);
    total += static_cast<Word>(__popc(chosen));
    if constexpr (P != Pass::count) {
      const T* x = rows.values + (rows.chosen == nullptr ? i : position) * nearest.d;
      measure_chosen(chosen, x, nearest.centroids + base * nearest.d, nearest.d, [&](int bit, double distance) {
        if (P == Pass::distances) lower(&nearest.best[base + bit], bits_of(distance));
        if (P == Pass::rows && bits_of(distance) == __ldcg(&nearest.best[base + bit])) {
          lower(&nearest.row[base + bit], row);
        }
      });
    }
  }
  if (lane_index() == 0 && total > 0) atomicAdd(task.counted, total);
}

/// Resets the nearest row of each centroid whose best D has become smaller.
__global__ void reset_rows_kernel(Nearest nearest, Word* previous) {
  for (std::int64_t c = thread_index(); c < nearest.k; c += thread_count()) {
    if (nearest.best[c] < previous[c]) nearest.row[c] = kNoRow;
    previous[c] = nearest.best[c];
  }
}

/// The memory of a search for nearest rows.
template <class T>
class NearestRowFinder {
 public:
  NearestRowFinder(const HeldRows<T>& held, const NearestRowsRequest& request)
      : held_(held),
        k_(request.centroids.rows),
        d_(held.columns()),
        limit_(has_fast_search() ? measured_for_search() * held.rows() : max_nearest_candidates(held.rows(), k_)),
        centroids_(held.pool(), k_ * d_),
        best_(held.pool(), k_),
        previous_(held.pool(), k_),
        row_(held.pool(), k_),
        list_(held.pool(), held.rows()),
        lengths_(held.pool(), (held.rows() + held.block_rows - 1) / held.block_rows),
        counts_(held.pool(), 2),
        nearest_{centroids_.data(), k_, d_, best_.data(), row_.data()} {
    held.stream().upload(centroids_.data(), request.centroids.data, k_ * d_);
  }

  /// False if there are too many candidates, or if a row is missing; the result is unchanged then.
  bool run(NearestRows& result) {
    if (k_ * (k_ / 2) > limit_) return false;
    find_pivots(result);
    const std::int64_t pivots = pivot_row_.size();
    // Limit the memory of this last step: at most one byte for eight values of the points.
    const std::int64_t bytes = std::max(std::int64_t{64} << 20, held_.rows() * d_ / 8);
    const std::int64_t slab_pivots = std::clamp<std::int64_t>(bytes / (k_ * 8), 1, pivots);
    Buffer<double> apart(held_.pool(), slab_pivots * k_), range(held_.pool(), 2 * slab_pivots);
    stream().fill(counts_.data(), 0, 2);
    measure_pivots(slab_pivots == pivots ? Slab{0, pivots, apart.data(), range.data()} : Slab{});
    for (std::int64_t first = 0; first < pivots; first += slab_pivots) {
      const Slab slab{first, std::min(slab_pivots, pivots - first), apart.data(), range.data()};
      if (slab_pivots < pivots) measure_pivots(slab.first, slab.count, slab);
      if (!measure_rows(slab)) return false;
    }
    return finish(result);
  }

 private:
  // A general search with fp16 rows takes as long as testing a row in four, or as measuring some centroids for each
  // row: one with few columns, and more with many, since such a search may go on in float32.
  static constexpr std::int64_t kListedShare = 4;
  std::int64_t measured_for_search() const { return std::clamp<std::int64_t>(d_ / 128, 1, 8); }
  bool has_fast_search() const { return held_.fp16.are_kept(); }

  const Stream& stream() const { return held_.stream(); }
  unsigned warps(std::int64_t items) const { return held_.context->grid(items, kBlockWarps); }
  unsigned threads(std::int64_t items) const { return held_.context->grid(items, kBlock); }

  /// The best row of each cluster, and these rows sorted as pivots.
  void find_pivots(const NearestRows& result) {
    const std::int64_t n = held_.rows();
    stream().fill(best_.data(), 0xFF, k_);
    stream().fill(row_.data(), 0xFF, k_);
    own_distance_kernel<<<threads(n), kBlock, 0, stream()>>>(held_.distance.data(), held_.label.data(), n,
                                                             best_.data());
    check(cudaGetLastError());
    own_row_kernel<<<threads(n), kBlock, 0, stream()>>>(held_.distance.data(), held_.label.data(), n,
                                                        static_cast<Word>(held_.first_row), best_.data(), row_.data());
    check(cudaGetLastError());
    std::vector<double> distance(k_);
    std::vector<std::int64_t> row(k_);
    stream().download(reinterpret_cast<Word*>(distance.data()), best_.data(), k_);
    stream().download(reinterpret_cast<Word*>(row.data()), row_.data(), k_);

    std::vector<std::int32_t> order, pivot_of(k_, -1);
    for (std::int64_t c = 0; c < k_; ++c) {
      if (row[c] >= 0) order.push_back(static_cast<std::int32_t>(c));
    }
    const auto neighbor = [&](std::int32_t c) { return Neighbor{distance[c], row[c]}; };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return neighbor(a) < neighbor(b); });
    const auto pivots = static_cast<std::int64_t>(order.size());
    Matrix<double> values(pivots, d_);
    std::vector<double> pivot_distance;
    std::vector<Word> pivot_row;
    std::vector<std::int64_t> places;
    std::vector<Neighbor> best = result.best;
    for (const std::int32_t c : order) {
      const auto p = static_cast<std::int64_t>(pivot_row.size());
      places.push_back(row[c] - held_.first_row);
      pivot_of[c] = static_cast<std::int32_t>(p);
      pivot_distance.push_back(distance[c]);
      pivot_row.push_back(static_cast<Word>(row[c]));
      best[c] = std::min(best[c], neighbor(c));
    }
    held_.host.copy_values(places, values.view());
    for (std::int64_t c = 0; c < k_; ++c) {
      distance[c] = best[c].distance;
      row[c] = best[c].row;
    }
    upload(pivot_values_, values.data(), values.size());
    upload(pivot_distance_, pivot_distance.data(), pivots);
    upload(pivot_cluster_, order.data(), pivots);
    upload(pivot_row_, pivot_row.data(), pivots);
    upload(pivot_of_, pivot_of.data(), k_);
    stream().upload(best_.data(), reinterpret_cast<const Word*>(distance.data()), k_);
    stream().upload(previous_.data(), reinterpret_cast<const Word*>(distance.data()), k_);
    stream().upload(row_.data(), reinterpret_cast<const Word*>(row.data()), k_);
    pivots_ = {pivot_values_.data(), pivot_distance_.data(), pivot_cluster_.data(), pivot_row_.data(),
               pivot_of_.data()};
  }
  template <class V>
  void upload(Buffer<V>& to, const V* from, std::int64_t count) {
    to = Buffer<V>(held_.pool(), count);
    stream().upload(to.data(), from, count);
  }

  /// All pivots, in groups of doubling size, so that the first exclude most of the others.
  void measure_pivots(const Slab& slab) {
    constexpr std::int64_t kFirstPivots = 32;
    const std::int64_t pivots = pivot_row_.size();
    for (std::int64_t first = 0, size = kFirstPivots; first < pivots; first += size, size *= 2) {
      measure_pivots(first, std::min(size, pivots - first), slab);
    }
  }
  void measure_pivots(std::int64_t first, std::int64_t count, const Slab& slab) {
    pivot_kernel<<<warps(count * ((k_ + kWarp - 1) / kWarp)), kBlock, 0, stream()>>>(pivots_, first, count, nearest_,
                                                                                     slab, counts_.data());
    check(cudaGetLastError());
  }

  /// The rows of the clusters of a slab. False if there are too many candidates.
  bool measure_rows(const Slab& slab) {
    range_kernel<<<warps(slab.count), kBlock, 0, stream()>>>(nearest_, slab);
    check(cudaGetLastError());
    reset_rows();
    stream().fill(lengths_.data(), 0, lengths_.size());
    held_.for_blocks([&](const Block<T>& block) {
      select_kernel<<<threads(block.rows), kBlock, 0, stream()>>>(state_of(block), pivots_, slab, d_,
                                                                  list_.data() + block.first,
                                                                  lengths_.data() + block.first / held_.block_rows);
      check(cudaGetLastError());
    });
    std::vector<Word> lengths(lengths_.size());
    stream().download(lengths.data(), lengths_.data(), lengths_.size());
    const auto listed = static_cast<std::int64_t>(std::accumulate(lengths.begin(), lengths.end(), Word{0}));
    if (listed == 0) return true;
    if (has_fast_search() && listed > held_.rows() / kListedShare) return false;
    run_pass<Pass::count>(lengths, slab);
    if (candidates() > limit_) return false;
    run_pass<Pass::distances>(lengths, slab);
    reset_rows();
    run_pass<Pass::rows>(lengths, slab);
    return true;
  }
  RowState state_of(const Block<T>& block) const {
    return {held_.distance.data() + block.first, held_.label.data() + block.first, block.rows,
            static_cast<Word>(held_.first_row + block.first)};
  }
  void reset_rows() {
    reset_rows_kernel<<<threads(k_), kBlock, 0, stream()>>>(nearest_, previous_.data());
    check(cudaGetLastError());
  }
  template <Pass P>
  void run_pass(const std::vector<Word>& lengths, const Slab& slab) {
    held_.for_blocks([&](const Block<T>& block) {
      const auto count = static_cast<std::int64_t>(lengths[block.first / held_.block_rows]);
      if (count == 0) return;
      const std::int32_t* list = list_.data() + block.first;
      const ChosenValues<T> rows = P == Pass::count ? ChosenValues<T>{} : held_.chosen_on_device(block, list, count);
      const RowTask task{state_of(block), list, count, pivots_, slab, nearest_, counts_.data() + (P == Pass::count)};
      row_kernel<T, P><<<warps(count * ((k_ + kWarp - 1) / kWarp)), kBlock, 0, stream()>>>(task, rows);
      check(cudaGetLastError());
    });
  }
  /// Counted so far; they are measured at most twice.
  std::int64_t candidates() const {
    Word counted = 0;
    stream().download(&counted, counts_.data() + 1, 1);
    return static_cast<std::int64_t>(counted);
  }

  bool finish(NearestRows& result) const {
    std::vector<double> distance(k_);
    std::vector<std::int64_t> row(k_);
    Word measured = 0;
    stream().download(reinterpret_cast<Word*>(distance.data()), best_.data(), k_);
    stream().download(reinterpret_cast<Word*>(row.data()), row_.data(), k_);
    stream().download(&measured, counts_.data(), 1);
    if (std::any_of(row.begin(), row.end(), [](std::int64_t r) { return r < 0; })) return false;
    for (std::int64_t c = 0; c < k_; ++c) result.best[c] = {distance[c], row[c]};
    result.candidates += static_cast<std::int64_t>(measured);
    return true;
  }

  const HeldRows<T>& held_;
  std::int64_t k_, d_, limit_;
  Buffer<double> centroids_;
  Buffer<Word> best_, previous_, row_;
  Buffer<std::int32_t> list_;    // (n) positions of the rows that pass, at the beginning of each block
  Buffer<Word> lengths_;         // (blocks) of the list
  Buffer<Word> counts_;          // (2) measured distances; candidates
  Buffer<double> pivot_values_;  // (p, d)
  Buffer<double> pivot_distance_;
  Buffer<std::int32_t> pivot_cluster_, pivot_of_;
  Buffer<Word> pivot_row_;
  Nearest nearest_;
  Pivots pivots_{};
};

}  // namespace

template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result) {
  return NearestRowFinder<T>(held, request).run(result);
}

#define KITH_INSTANTIATE(T) template bool nearest_rows(const HeldRows<T>&, const NearestRowsRequest&, NearestRows&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
