// The search of a tree of boxes: a warp per query visits the nodes in the order of their distance, and computes the
// distances of a leaf's 32 rows by the definition, one per lane.
//
// The tree and the order are those of J. H. Friedman, J. L. Bentley, R. A. Finkel: An algorithm for finding best
// matches in logarithmic expected time (1977). A node is left out only if the distance to its box, rounded down by more
// than the definition may be rounded, exceeds the k-th D of the list, or equals it while all its rows have higher
// numbers than the k-th. So the list is that of the definition. With few columns a query visits about ten leaves, each
// 32 (4 d + 4) bytes and 3 d float64 operations per row, and as many families of boxes.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/runtime/cell_tree.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

inline constexpr int kCellThreads = 128;
inline constexpr int kCellWarps = kCellThreads / kWarp;

/// Queries on the device.
struct CellQueries {
  const double* values = nullptr;  // (count, d)
  std::int64_t count = 0;
  std::int64_t neighbors = 0;  // length of each list, at most 32 kSlots
  std::int64_t excluded = -1;  // if has_excluded: query i excludes the row at position excluded + i
  bool has_excluded = false;
  bool only_filled = false;      // skips lists that have no entry
  std::int64_t first_row = 0;    // row number of position 0
  std::int64_t most_leaves = 0;  // that a query may visit; if it needs more, its list stays as it was
};

struct CellOutcome {
  DeviceLists lists;                  // in and out: merged into
  unsigned char* given_up = nullptr;  // (count) 1: the query needed more leaves; or null
  Word* measured = nullptr;           // (1) ADDED to: distances computed
};

/// A value of a query, and float32 numbers below and above it.
struct CellValue {
  double value;
  float below, above;
};

/// A lower bound of D between a query and all rows of a box, as float32. low(j), high(j): the sides of the box; both
/// are the value of a row for a bound of its D alone. All differences, products and sums are rounded down, so the sum
/// is not above the exact squared distance; D may be below that by a factor of 1 - definition_rounding(d), and the last
/// product covers it. Where D underflows, the float32 sum is zero.
template <class Side, class Low, class High>
__device__ float box_bound(const CellValue* query, int d, const Low& low, const High& high) {
  if constexpr (std::is_same_v<Side, double>) {
    double sum = 0.0;
#pragma unroll 4
    for (int j = 0; j < d; ++j) {
      const double left = __dsub_rd(low(j), query[j].value), right = __dsub_rd(query[j].value, high(j));
      const double outside = fmax(fmax(left, right), 0.0);
      sum = __fma_rd(outside, outside, sum);
    }
    return __double2float_rd(__dmul_rd(sum, 1.0 - 0x1p-20));
  } else {
    float sum = 0.0F;
#pragma unroll 8
    for (int j = 0; j < d; ++j) {
      const float left = __fsub_rd(low(j), query[j].above), right = __fsub_rd(query[j].below, high(j));
      const float outside = fmaxf(fmaxf(left, right), 0.0F);
      sum = __fmaf_rd(outside, outside, sum);
    }
    return __fmul_rd(sum, 1.0F - 0x1p-20F);
  }
}

/// The definition's tree of additions over kCount accumulators, in the registers of a lane.
template <int kCount, int kSize>
__device__ double add_accumulators(double (&sum)[kSize]) {
  if constexpr (kCount > 1) {
#pragma unroll
    for (int l = 0; l < kCount / 2; ++l) sum[l] = __dadd_rn(sum[l], sum[l + kCount / 2]);
    return add_accumulators<kCount / 2>(sum);
  } else {
    return sum[0];
  }
}

/// D of a query and this lane's row of a leaf. column: the row's value in column 0. For kColumns < 32, d <= kColumns,
/// and the accumulators beyond are zero, which the tree of additions does not change.
template <int kColumns, class T>
__device__ double leaf_distance(const T* column, const CellValue* query, int d) {
  static_assert(kColumns <= kLanes && (kColumns & (kColumns - 1)) == 0);
  double sum[kColumns];
#pragma unroll
  for (int l = 0; l < kColumns; ++l) sum[l] = 0.0;
#pragma unroll 1
  for (int first = 0; first < d; first += kColumns) {
#pragma unroll
    for (int l = 0; l < kColumns; ++l) {
      const int j = first + l;
      if (j < d) sum[l] = add_square(static_cast<double>(__ldg(column + j * kCellRows)), query[j].value, sum[l]);
    }
  }
  return add_accumulators<kColumns>(sum);
}

/// A list in the registers of a warp, ordered by before(): entry i is in slot i / 32 of lane i % 32.
template <int kSlots>
struct WarpList {
  double distance[kSlots];
  std::int64_t index[kSlots];

  __device__ void load(const DeviceLists& lists, std::int64_t q, std::int64_t neighbors) {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      const std::int64_t i = s * kWarp + lane_index();
      distance[s] = i < neighbors ? lists.distance[q * neighbors + i] : std::numeric_limits<double>::infinity();
      index[s] = i < neighbors ? lists.index[q * neighbors + i] : -1;
    }
  }
  __device__ void store(const DeviceLists& lists, std::int64_t q, std::int64_t neighbors) const {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      const std::int64_t i = s * kWarp + lane_index();
      if (i >= neighbors) continue;
      lists.distance[q * neighbors + i] = distance[s];
      lists.index[q * neighbors + i] = index[s];
    }
  }
  /// Inserts a row and drops the last entry. Called by all lanes with the same row.
  __device__ void insert(double new_distance, std::int64_t new_index) {
#pragma unroll
    for (int s = kSlots - 1; s >= 0; --s) {
      // The entry before: that of the lane below, for lane 0 the last of the slot before.
      double previous_distance = __shfl_up_sync(kAllLanes, distance[s], 1);
      std::int64_t previous_index = __shfl_up_sync(kAllLanes, index[s], 1);
      if (s > 0) {
        const double last_distance = __shfl_sync(kAllLanes, distance[s > 0 ? s - 1 : 0], kWarp - 1);
        const std::int64_t last_index = __shfl_sync(kAllLanes, index[s > 0 ? s - 1 : 0], kWarp - 1);
        if (lane_index() == 0) previous_distance = last_distance, previous_index = last_index;
      }
      const bool has_previous = s > 0 || lane_index() > 0;
      const bool changes = before(new_distance, new_index, distance[s], index[s]);
      const bool shifts = has_previous && before(new_distance, new_index, previous_distance, previous_index);
      if (changes) {
        distance[s] = shifts ? previous_distance : new_distance;
        index[s] = shifts ? previous_index : new_index;
      }
    }
  }
  /// Entry i, in every lane.
  __device__ void get(std::int64_t i, double& entry_distance, std::int64_t& entry_index) const {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      if (i / kWarp != s) continue;
      entry_distance = __shfl_sync(kAllLanes, distance[s], static_cast<int>(i % kWarp));
      entry_index = __shfl_sync(kAllLanes, index[s], static_cast<int>(i % kWarp));
    }
  }
};

/// The search of one query by a warp.
template <class T, int kColumns, int kSlots>
class CellWalk {
 public:
  /// bounds: shared memory for the bounds of the families on the path, of which each lane uses its own.
  __device__ CellWalk(const CellView<T>& tree, const CellQueries& queries, const CellValue* query,
                      float (*bounds)[kCellRows])
      : tree_(tree), queries_(queries), query_(query), bounds_(bounds) {}

  /// Merges the nearest rows into the list of query q. Returns the number of visited leaves; more than most_leaves: the
  /// list is unchanged.
  __device__ std::int64_t run(std::int64_t q, const DeviceLists& lists) {
    const std::int64_t own = queries_.has_excluded ? queries_.excluded + q : -1;
    list_.load(lists, q, queries_.neighbors);
    list_.get(queries_.neighbors - 1, last_distance_, last_index_);
    int level = tree_.levels - 1;
    std::int64_t family = 0, leaves = 0;  // family: number within its level
    open(level, family);
    for (;;) {
      const int child = nearest(level, family);
      if (child < 0) {
        if (++level == tree_.levels) break;
        family /= kCellRows;
      } else if (level > 0) {
        family = family * kCellRows + child;
        open(--level, family);
      } else {
        if (++leaves > queries_.most_leaves) return leaves;
        visit_leaf(family * kCellRows + child, own);
      }
    }
    list_.store(lists, q, queries_.neighbors);
    return leaves;
  }

 private:
  /// Computes the bounds of a family's nodes. A NaN stands for a node that is missing or has been visited.
  __device__ void open(int level, std::int64_t family) {
    const bool exists = family * kCellRows + lane_index() < tree_.nodes[level];
    const auto* sides = tree_.box + (tree_.families[level] + family) * tree_.d * 2 * kCellRows + lane_index();
    const auto low = [&](int j) { return __ldg(sides + j * 2 * kCellRows); };
    const auto high = [&](int j) { return __ldg(sides + (j * 2 + 1) * kCellRows); };
    const float bound = exists ? box_bound<CellSide<T>>(query_, static_cast<int>(tree_.d), low, high) : 0.0F;
    bounds_[level][lane_index()] = exists ? bound : __int_as_float(0x7FFFFFFF);
  }

  /// The nearest unvisited node of a family that may hold a row of the list, now marked as visited; -1: none.
  __device__ int nearest(int level, std::int64_t family) {
    constexpr unsigned kNone = ~0U;
    const float bound = bounds_[level][lane_index()];
    const auto distance = static_cast<double>(bound);
    bool needed = distance < last_distance_;
    if (distance == last_distance_) {
      const std::int32_t first = tree_.first_row[(tree_.families[level] + family) * kCellRows + lane_index()];
      needed = before(distance, queries_.first_row + first, last_distance_, last_index_);
    }
    const unsigned order = needed ? __float_as_uint(bound) : kNone;  // bounds are not negative
    const unsigned smallest = __reduce_min_sync(kAllLanes, order);
    if (smallest == kNone) return -1;
    const int child = __ffs(static_cast<int>(__ballot_sync(kAllLanes, order == smallest))) - 1;
    if (lane_index() == child) bounds_[level][child] = __int_as_float(0x7FFFFFFF);
    return child;
  }

  __device__ void visit_leaf(std::int64_t leaf, std::int64_t own) {
    const std::int32_t row = tree_.row[leaf * kCellRows + lane_index()];
    const bool exists = row != kNoCellRow && row != own;
    const T* column = tree_.values + leaf * kCellRows * tree_.d + lane_index();
    const int d = static_cast<int>(tree_.d);
    if constexpr (kColumns == kLanes && !std::is_same_v<T, double>) {
      // With many columns few leaves hold a row of the list, and float32 takes half the time.
      const auto value = [&](int j) { return static_cast<float>(__ldg(column + j * kCellRows)); };
      const auto bound = static_cast<double>(box_bound<float>(query_, d, value, value));
      if (!__any_sync(kAllLanes, exists && bound <= last_distance_)) return;
    }
    const double distance = leaf_distance<kColumns>(column, query_, d);
    const std::int64_t index = queries_.first_row + row;
    for (unsigned lanes = kAllLanes;;) {
      lanes &= __ballot_sync(kAllLanes, exists && before(distance, index, last_distance_, last_index_));
      if (lanes == 0) return;
      const int lane = __ffs(static_cast<int>(lanes)) - 1;
      list_.insert(__shfl_sync(kAllLanes, distance, lane), __shfl_sync(kAllLanes, index, lane));
      list_.get(queries_.neighbors - 1, last_distance_, last_index_);
      lanes &= lanes - 1;
    }
  }

  const CellView<T>& tree_;
  const CellQueries& queries_;
  const CellValue* query_;
  float (*bounds_)[kCellRows];
  WarpList<kSlots> list_;
  double last_distance_ = 0.0;  // the last entry of the list
  std::int64_t last_index_ = 0;
};

/// Shared memory: kCellWarps d values of type CellValue.
template <class T, int kColumns, int kSlots>
__global__ void __launch_bounds__(kCellThreads)
    cells_kernel(const __grid_constant__ CellView<T> tree, const __grid_constant__ CellQueries queries,
                 const __grid_constant__ CellOutcome out) {
  extern __shared__ __align__(16) unsigned char query_memory[];
  __shared__ float bounds[kCellWarps][kCellLevels][kCellRows];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  CellValue* query = reinterpret_cast<CellValue*>(query_memory) + warp * tree.d;
  for (std::int64_t q = warp_index(); q < queries.count; q += warp_count()) {
    if (queries.only_filled && out.lists.index[q * queries.neighbors] < 0) continue;
    for (std::int64_t j = lane_index(); j < tree.d; j += kWarp) {
      const double value = queries.values[q * tree.d + j];
      query[j] = {value, __double2float_rd(value), __double2float_ru(value)};
    }
    __syncwarp();
    CellWalk<T, kColumns, kSlots> walk(tree, queries, query, bounds[warp]);
    const std::int64_t leaves = walk.run(q, out.lists);
    __syncwarp();  // before the next query replaces this one
    if (lane_index() != 0) continue;
    if (out.given_up != nullptr) out.given_up[q] = leaves > queries.most_leaves ? 1 : 0;
    atomicAdd(out.measured, static_cast<Word>(leaves) * kCellRows);
  }
}

}  // namespace kith::cuda
