// The search of a tree of boxes: a warp per query visits the nodes in the order of their distance, and computes the
// distances of a leaf's 32 rows by the definition, one per lane.
//
// The tree and the order are those of J. H. Friedman, J. L. Bentley, R. A. Finkel: An algorithm for finding best
// matches in logarithmic expected time (1977). A node is left out only if the distance to its box, rounded down by more
// than the definition may be rounded, exceeds the k-th D of the list, or equals it while all its rows have higher
// numbers than the k-th. So the list is that of the definition. With few columns a query visits about ten leaves, each
// 32 (4 d + 4) bytes and 3 d float64 operations per row, and as many families of boxes.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/box_tree.h"
#include "kernels/cuda/search/device_lists.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

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

/// The list of a query during its search.
template <int kSlots>
struct NearestRows {
  WarpList<kSlots> list;
  std::int64_t neighbors = 0;
  double last_distance = 0.0;  // the last entry
  std::int64_t last_index = 0;

  __device__ void load(const DeviceLists& lists, std::int64_t q, std::int64_t length) {
    neighbors = length;
    list.load(lists, q, neighbors);
    list.get(neighbors - 1, last_distance, last_index);
  }
  /// Inserts the row of each lane that exists and belongs into the list.
  __device__ void offer(bool exists, double distance, std::int64_t index) {
    for (unsigned lanes = kAllLanes;;) {
      lanes &= __ballot_sync(kAllLanes, exists && before(distance, index, last_distance, last_index));
      if (lanes == 0) return;
      const int lane = __ffs(static_cast<int>(lanes)) - 1;
      list.insert(__shfl_sync(kAllLanes, distance, lane), __shfl_sync(kAllLanes, index, lane));
      list.get(neighbors - 1, last_distance, last_index);
      lanes &= lanes - 1;
    }
  }
};

constexpr int kTreeThreads = 128;
constexpr int kTreeWarps = kTreeThreads / kWarp;

/// A value of a query, and float32 numbers below and above it.
struct TreeValue {
  double value;
  float below, above;
};

/// A lower bound of D between a query and all rows of a box, as float32. low(j), high(j): the sides of the box; both
/// are the value of a row for a bound of its D alone. All differences, products and sums are rounded down, so the sum
/// is not above the exact squared distance; D may be below that by a factor of 1 - definition_rounding(d), and the last
/// product covers it. Where D underflows, the float32 sum is zero.
template <class Side, class Low, class High>
__device__ float box_bound(const TreeValue* query, int d, const Low& low, const High& high) {
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
#pragma unroll 32
    for (int j = 0; j < d; ++j) {
      const float left = __fsub_rd(low(j), query[j].above), right = __fsub_rd(query[j].below, high(j));
      const float outside = fmaxf(fmaxf(left, right), 0.0F);
      sum = __fmaf_rd(outside, outside, sum);
    }
    return __fmul_rd(sum, 1.0F - 0x1p-20F);
  }
}

/// D of a query and this lane's row of a leaf, which has value(j) in column j. For kColumns < 32, d <= kColumns, and
/// the accumulators beyond are zero, which the tree of additions does not change.
template <int kColumns, class Value>
__device__ double leaf_distance(const Value& value, const TreeValue* query, int d) {
  static_assert(kColumns <= kLanes && (kColumns & (kColumns - 1)) == 0);
  double sum[kColumns];
#pragma unroll
  for (int l = 0; l < kColumns; ++l) sum[l] = 0.0;
#pragma unroll 1
  for (int first = 0; first < d; first += kColumns) {
#pragma unroll
    for (int l = 0; l < kColumns; ++l) {
      const int j = first + l;
      if (j < d) sum[l] = add_square(static_cast<double>(value(j)), query[j].value, sum[l]);
    }
  }
  return add_accumulators<kColumns>(sum);
}

/// Inserts the rows of the chosen lanes that belong into the list. value(j, lane): that of a lane's row in column j;
/// index: of this lane's row.
template <int kSlots, class Value>
__device__ void offer_lanes(unsigned chosen, const Value& value, const TreeValue* query, int d, std::int64_t index,
                            NearestRows<kSlots>& nearest) {
  constexpr int kFew = 12;  // as long as a lane computes its own distance
  constexpr int kTogether = 4, kLanesEach = kWarp / kTogether;
  double distance = 0.0;
  if (__popc(chosen) > kFew) {
    distance = leaf_distance<kLanes>([&](int j) { return value(j, lane_index()); }, query, d);
  } else {
    for (unsigned rest = chosen; rest != 0;) {
      int row[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        row[i] = rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : row[0];
        rest &= rest - 1;
      }
      double sum[kTogether] = {};
      for (int j = lane_index(); j < d; j += kWarp) {
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
          sum[i] = add_square(static_cast<double>(value(j, row[i])), query[j].value, sum[i]);
      }
      const double measured = add_lanes<kTogether>(sum);
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const double one = __shfl_sync(kAllLanes, measured, i * kLanesEach);
        if (lane_index() == row[i]) distance = one;
      }
    }
  }
  nearest.offer((chosen >> lane_index() & 1) != 0, distance, index);
}

/// Whether a node with this lower bound of D may hold a row of the list. node: its number among all nodes. A NaN: no.
template <class T, int kSlots>
__device__ bool may_hold(const TreeView<T>& tree, const TreeQueries& queries, const NearestRows<kSlots>& nearest,
                         float bound, std::int64_t node) {
  const auto distance = static_cast<double>(bound);
  if (distance != nearest.last_distance) return distance < nearest.last_distance;
  return before(distance, queries.first_row + tree.first_row[node], nearest.last_distance, nearest.last_index);
}

/// Stores the values of query q.
__device__ void load_query(const TreeQueries& queries, std::int64_t q, std::int64_t d, TreeValue* query) {
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const double value = queries.values[q * d + j];
    query[j] = {value, __double2float_rd(value), __double2float_ru(value)};
  }
  __syncwarp();
}

/// Lower bounds of D between a query and the nodes of a family, one per lane. A NaN: there is no such node.
template <class T>
__device__ float family_bound(const TreeView<T>& tree, const TreeValue* query, int level, std::int64_t family) {
  const bool exists = family * kLeafRows + lane_index() < tree.nodes[level];
  const auto* sides = tree.box + (tree.families[level] + family) * tree.d * 2 * kLeafRows + lane_index();
  const auto low = [&](int j) { return __ldg(sides + j * 2 * kLeafRows); };
  const auto high = [&](int j) { return __ldg(sides + (j * 2 + 1) * kLeafRows); };
  const float bound = exists ? box_bound<BoxSide<T>>(query, static_cast<int>(tree.d), low, high) : 0.0F;
  return exists ? bound : __int_as_float(0x7FFFFFFF);
}

/// The search of one query by a warp.
template <class T, int kColumns, int kSlots>
class TreeWalk {
 public:
  /// bounds: shared memory for the bounds of the families on the path, of which each lane uses its own.
  __device__ TreeWalk(const TreeView<T>& tree, const TreeQueries& queries, const TreeValue* query,
                      float (*bounds)[kLeafRows])
      : tree_(tree), queries_(queries), query_(query), bounds_(bounds) {}

  /// The families of boxes whose bounds were computed.
  __device__ std::int64_t opened() const { return opened_; }

  /// Merges the nearest rows into the list of query q. Returns the number of visited leaves; more than most_leaves: the
  /// list is unchanged.
  __device__ std::int64_t run(std::int64_t q, const DeviceLists& lists) {
    const std::int64_t own = queries_.excluded_by(q);
    nearest_.load(lists, q, queries_.neighbors);
    int level = tree_.levels - 1;
    std::int64_t family = 0, leaves = 0;  // family: number within its level
    open(level, family);
    for (;;) {
      const int child = choose(level, family);
      if (child < 0) {
        if (++level == tree_.levels) break;
        family /= kLeafRows;
      } else if (level > 0) {
        family = family * kLeafRows + child;
        open(--level, family);
      } else {
        if (++leaves > queries_.most_leaves) return leaves;
        visit_leaf(family * kLeafRows + child, own);
      }
    }
    nearest_.list.store(lists, q, queries_.neighbors);
    return leaves;
  }

 private:
  /// Computes the bounds of a family's nodes. A NaN stands for a node that is missing or has been visited.
  __device__ void open(int level, std::int64_t family) {
    bounds_[level][lane_index()] = family_bound(tree_, query_, level, family);
    ++opened_;
  }

  /// The nearest unvisited node of a family that may hold a row of the list, now marked as visited; -1: none.
  __device__ int choose(int level, std::int64_t family) {
    constexpr unsigned kNone = ~0U;
    const float bound = bounds_[level][lane_index()];
    const std::int64_t node = (tree_.families[level] + family) * kLeafRows + lane_index();
    const bool needed = may_hold(tree_, queries_, nearest_, bound, node);
    const unsigned order = needed ? __float_as_uint(bound) : kNone;  // bounds are not negative
    const unsigned smallest = __reduce_min_sync(kAllLanes, order);
    if (smallest == kNone) return -1;
    const int child = __ffs(static_cast<int>(__ballot_sync(kAllLanes, order == smallest))) - 1;
    if (lane_index() == child) bounds_[level][child] = __int_as_float(0x7FFFFFFF);
    return child;
  }

  __device__ void visit_leaf(std::int64_t leaf, std::int64_t own) {
    const std::int32_t row = tree_.row[leaf * kLeafRows + lane_index()];
    const bool exists = row != kNoTreeRow && row != own;
    const T* column = tree_.values + leaf * kLeafRows * tree_.d;
    const int d = static_cast<int>(tree_.d);
    const std::int64_t index = queries_.first_row + row;
    if constexpr (kColumns == kLanes && !std::is_same_v<T, double>) {
      // With many columns few rows belong into the list, and float32 takes half the time.
      const auto side = [&](int j) { return static_cast<float>(__ldg(column + lane_index() + j * kLeafRows)); };
      const auto bound = static_cast<double>(box_bound<float>(query_, d, side, side));
      const unsigned chosen = __ballot_sync(kAllLanes, exists && bound <= nearest_.last_distance);
      const auto value = [&](int j, int lane) { return __ldg(column + lane + j * kLeafRows); };
      if (chosen != 0) offer_lanes(chosen, value, query_, d, index, nearest_);
    } else {
      const auto value = [&](int j) { return __ldg(column + lane_index() + j * kLeafRows); };
      nearest_.offer(exists, leaf_distance<kColumns>(value, query_, d), index);
    }
  }

  const TreeView<T>& tree_;
  const TreeQueries& queries_;
  const TreeValue* query_;
  float (*bounds_)[kLeafRows];
  NearestRows<kSlots> nearest_;
  int opened_ = 0;
};

/// Shared memory: d values of type TreeValue for each warp of a block, of which there are up to kTreeWarps.
template <class T, int kColumns, int kSlots>
__global__ void __launch_bounds__(kTreeThreads)
    tree_kernel(const __grid_constant__ TreeView<T> tree, const __grid_constant__ TreeQueries queries,
                const __grid_constant__ TreeOutcome out) {
  extern __shared__ __align__(16) unsigned char query_memory[];
  __shared__ float bounds[kTreeWarps][kTreeLevels][kLeafRows];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  TreeValue* query = reinterpret_cast<TreeValue*>(query_memory) + warp * tree.d;
  for (std::int64_t q = warp_index(); q < queries.count; q += warp_count()) {
    const std::int64_t first = q * queries.neighbors, last = first + queries.neighbors - 1;
    if (queries.only_filled && out.lists.index[first] < 0) continue;
    if (out.lists.index[last] >= 0 && queries.lengths.are_beyond(q, out.lists.distance[last])) {
      if (out.given_up != nullptr && lane_index() == 0) out.given_up[q] = 0;
      continue;
    }
    load_query(queries, q, tree.d, query);
    TreeWalk<T, kColumns, kSlots> walk(tree, queries, query, bounds[warp]);
    const std::int64_t leaves = walk.run(q, out.lists);
    __syncwarp();  // before the next query replaces this one
    if (lane_index() != 0) continue;
    if (out.given_up != nullptr) out.given_up[q] = leaves > queries.most_leaves ? 1 : 0;
    atomicAdd(out.measured, static_cast<Word>(leaves) * kLeafRows);
    if (out.bounded != nullptr) atomicAdd(out.bounded, static_cast<Word>(walk.opened()) * kLeafRows);
  }
}

__global__ void clear_kernel(DeviceLists lists, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    lists.distance[i] = std::numeric_limits<double>::infinity();
    lists.index[i] = -1;
  }
}

template <int kSlots, class T>
auto kernel_for(std::int64_t d) {
  if (d <= 4) return tree_kernel<T, 4, kSlots>;
  return d <= 16 ? tree_kernel<T, 16, kSlots> : tree_kernel<T, kLanes, kSlots>;
}

}  // namespace

void clear_lists(const Context& context, const DeviceLists& lists, std::int64_t count) {
  clear_kernel<<<context.grid(count, kBlock), kBlock, 0, context.stream>>>(lists, count);
  check(cudaGetLastError());
}

template <class T>
void launch_tree(const Context& context, const TreeView<T>& tree, const TreeQueries& queries, const TreeOutcome& out) {
  static_assert(kMostTreeNeighbors == 4 * kWarp);
  constexpr std::int64_t kUnasked = 48 * 1024;  // what a kernel may use of shared memory without asking
  constexpr std::int64_t kBounds = kTreeWarps * kTreeLevels * kLeafRows * 4;
  static_assert(kMostTreeColumns * sizeof(TreeValue) + kBounds <= 64 * 1024, "what every GPU has");
  const auto kernel = queries.neighbors <= kWarp ? kernel_for<1, T>(tree.d) : kernel_for<4, T>(tree.d);
  const std::int64_t query_bytes = tree.d * static_cast<std::int64_t>(sizeof(TreeValue));
  // Few queries are spread over all multiprocessors.
  const std::int64_t most_warps = std::clamp<std::int64_t>(queries.count / context.multiprocessors, 1, kTreeWarps);
  const std::int64_t warps = std::clamp<std::int64_t>((kUnasked - kBounds) / query_bytes, 1, most_warps);
  const std::int64_t shared = warps * query_bytes;
  if (shared + kBounds > kUnasked) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  }
  // Queries take different times, so there are more blocks than run together, each with few queries.
  const std::int64_t blocks = (queries.count + warps - 1) / warps;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks, std::numeric_limits<int>::max()));
  const auto threads = static_cast<unsigned>(warps * kWarp);
  kernel<<<grid, threads, static_cast<std::size_t>(shared), context.stream>>>(tree, queries, out);
  check(cudaGetLastError());
}

double computed_share(const Word (&computed)[2], std::int64_t queries, std::int64_t rows) {
  const double pairs = static_cast<double>(queries) * static_cast<double>(rows);
  return (static_cast<double>(computed[0]) + 2.0 * static_cast<double>(computed[1])) / pairs;
}

template <class T>
TreeQueries tree_queries(const HeldRows<T>& held, const double* values, std::int64_t count, std::int64_t neighbors) {
  const SearchSize size{.rows = held.rows(),
                        .columns = held.columns(),
                        .queries = count,
                        .neighbors = neighbors,
                        .is_float64 = std::is_same_v<T, double>};
  return {.values = values,
          .count = count,
          .neighbors = neighbors,
          .first_row = held.first_row,
          .most_leaves = most_leaves(held.context->machine, size, held.index, held.rows() / kLeafRows)};
}

template <class T>
std::vector<std::int64_t> search_tree(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                      NeighborLists& lists) {
  constexpr std::int64_t kBatchBytes = std::int64_t{256} << 20;
  const std::int64_t q = queries.values.rows, k = lists.index.columns(), d = held.columns();
  const std::int64_t limit = queries.working_bytes > 0 ? queries.working_bytes : kBatchBytes;
  const std::int64_t bytes = std::min(limit, held.pool().available() / 4);
  const std::int64_t size = std::clamp<std::int64_t>(bytes / (d * 8 + k * 16 + 1), 1, q);
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const Buffer<double> values(held.pool(), size * d), distance(held.pool(), size * k);
  const Buffer<std::int64_t> index(held.pool(), size * k);
  const Buffer<unsigned char> given_up(held.pool(), size);
  const Buffer<Word> work(held.pool(), 2);  // distances and bounds
  const TreeOutcome out{{distance.data(), index.data()}, given_up.data(), work.data(), work.data() + 1};
  stream.fill(work.data(), 0, 2);
  std::vector<std::int64_t> fallback;
  std::vector<unsigned char> flags(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < q; first += size) {
    const std::int64_t count = std::min(size, q - first);
    stream.upload(values.data(), queries.values.data + first * d, count * d);
    if (unfilled) {
      clear_lists(context, out.lists, count * k);
    } else {
      stream.upload(distance.data(), lists.distance.data() + first * k, count * k);
      stream.upload(index.data(), lists.index.data() + first * k, count * k);
    }
    TreeQueries request = tree_queries(held, values.data(), count, k);
    request.excluded = queries.excluded_row + first - held.first_row;
    request.has_excluded = queries.excluded_row >= 0;
    launch_tree(context, held.index.tree.view, request, out);
    stream.download(flags.data(), given_up.data(), count);
    stream.download(lists.distance.data() + first * k, distance.data(), count * k);
    stream.download(lists.index.data() + first * k, index.data(), count * k);
    for (std::int64_t i = 0; i < count; ++i) {
      if (flags[static_cast<std::size_t>(i)] != 0) fallback.push_back(first + i);
    }
  }
  Word computed[2] = {};
  stream.download(computed, work.data(), 2);
  lists.candidates += static_cast<std::int64_t>(computed[0]);
  constexpr std::int64_t kEnough = 64;  // queries that represent others
  if (q >= kEnough) {
    held.index.share = computed_share(computed, q, held.rows());
    held.index.neighbors = k;
  }
  return fallback;
}

#define KITH_INSTANTIATE(T)                                                                              \
  template void launch_tree(const Context&, const TreeView<T>&, const TreeQueries&, const TreeOutcome&); \
  template TreeQueries tree_queries(const HeldRows<T>&, const double*, std::int64_t, std::int64_t);      \
  template std::vector<std::int64_t> search_tree(const HeldRows<T>&, const Queries&, bool, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
