// A thread block walks the tree for eight queries: it opens a node if one of them may need it, the nearest to any of
// them first, and copies each leaf into shared memory once, the next one while the warps, one per query, compute with
// the last. So rows are read once per block instead of once per query, which is what bounds the time of cell_kernel.h
// where the rows have many columns and are in clusters.
#include "kernels/cuda/search/shared_cells.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/search/cell_order.h"

namespace kith::cuda {
namespace {

constexpr int kWarps = 8;  // queries of a block
constexpr int kThreads = kWarps * kWarp;
constexpr std::int64_t kAligned = 16;  // bytes of a copy
constexpr std::int64_t kMostSharedColumns = 512;

/// Bytes of a leaf's values and row numbers.
template <class T>
__host__ __device__ std::int64_t leaf_bytes(std::int64_t d) {
  return kCellRows * (d * std::int64_t{sizeof(T)} + std::int64_t{sizeof(std::int32_t)});
}
/// Values of a query in float32, padded so that each begins at a multiple of 16 bytes.
__host__ __device__ std::int64_t padded(std::int64_t d) { return (d + 3) / 4 * 4; }

/// Shared memory: two leaves, and the queries in both forms.
template <class T>
std::int64_t shared_bytes(std::int64_t d) {
  return 2 * leaf_bytes<T>(d) +
         kWarps * (d * std::int64_t{sizeof(CellValue)} + padded(d) * std::int64_t{sizeof(float)});
}

#ifdef KITH_AMPERE

/// A lower bound of D between a query that float32 holds and a row, as box_bound() gives for any query. Each difference
/// and each step of a sum changes the squared distance by a factor of at most 1 + 2^-24, (d + 2) of them by less than
/// 2^-14 for d <= 512, which covers the rounding of D as well; squares that vanish by at most 2^-149 each. value(j): of
/// the row; query: aligned, padded with any numbers.
template <class Value>
__device__ float row_bound(const Value& value, const float* query, int d) {
  static_assert(kMostSharedColumns <= 512);
  constexpr float kLargest = 0x1.FFFp127F;
  float sum[4] = {};
#pragma unroll 8
  for (int j = 0; j + 4 <= d; j += 4) {
    const float4 q = *reinterpret_cast<const float4*>(query + j);
    const float t[4] = {value(j) - q.x, value(j + 1) - q.y, value(j + 2) - q.z, value(j + 3) - q.w};
#pragma unroll
    for (int l = 0; l < 4; ++l) sum[l] = fmaf(t[l], t[l], sum[l]);
  }
  for (int j = d / 4 * 4; j < d; ++j) {
    const float t = value(j) - query[j];
    sum[0] = fmaf(t, t, sum[0]);
  }
  const float total = fminf((sum[0] + sum[1]) + (sum[2] + sum[3]), kLargest);
  return fmaxf(__fsub_rd(__fmul_rd(total, 1.0F - 0x1p-14F), static_cast<float>(d) * 0x1p-149F), 0.0F);
}

/// What the warps of a block agree on.
struct BlockState {
  unsigned nearest[3][kCellRows];  // of the nodes of a family: bits of the smallest bound of a query that may need it
  float bounds[kWarps][kCellLevels][kCellRows];
};

template <class T, int kSlots>
class SharedWalk {
 public:
  /// memory: as of shared_bytes().
  __device__ SharedWalk(const CellView<T>& tree, const CellQueries& queries, unsigned char* memory, BlockState& state)
      : tree_(tree), queries_(queries), memory_(memory), state_(state), warp_(static_cast<int>(threadIdx.x) / kWarp) {
    unsigned char* next = memory + 2 * leaf_bytes<T>(tree.d);
    query_ = reinterpret_cast<CellValue*>(next) + warp_ * tree.d;
    next += kWarps * tree.d * std::int64_t{sizeof(CellValue)};
    rounded_ = reinterpret_cast<float*>(next) + warp_ * padded(tree.d);
  }

  /// Searches for query q of this warp; -1: none, the warp helps the others. Returns the number of visited leaves; more
  /// than most_leaves: the list is unchanged. Called by all threads of the block.
  __device__ std::int64_t run(std::int64_t q, const DeviceLists& lists) {
    if (threadIdx.x < 3 * kCellRows) state_.nearest[threadIdx.x / kCellRows][threadIdx.x % kCellRows] = ~0U;
    begin(q, lists);
    __syncthreads();
    int level = tree_.levels - 1, stage = 0;
    std::int64_t family = 0, pending = -1;  // the leaf that is being copied
    float pending_bound = 0.0F;
    open(level, family);
    for (;;) {
      float bound = 0.0F;
      const int child = choose(level, family, bound);
      if (child >= 0 && level > 0) {
        family = family * kCellRows + child;
        open(--level, family);
        continue;
      }
      const std::int64_t leaf = child < 0 ? -1 : family * kCellRows + child;
      if (leaf >= 0) copy_leaf(leaf, stage);
      copies_commit();
      if (pending >= 0) {
        copies_wait<1>();
        __syncthreads();
        visit_leaf(pending, pending_bound, stage ^ 1);
      }
      pending = leaf;
      pending_bound = bound;
      stage ^= 1;
      if (child >= 0) continue;
      if (++level == tree_.levels) break;
      family /= kCellRows;
    }
    if (q >= 0 && leaves_ <= queries_.most_leaves) nearest_.list.store(lists, q, queries_.neighbors);
    return leaves_;
  }

 private:
  __device__ void begin(std::int64_t q, const DeviceLists& lists) {
    if (q < 0) {
      for (std::int64_t j = lane_index(); j < tree_.d; j += kWarp) query_[j] = {0.0, 0.0F, 0.0F};
      __syncwarp();
      nearest_.last_distance = -1.0;  // nothing is needed
      return;
    }
    load_query(queries_, q, tree_.d, query_);
    bool exact = true;
    for (std::int64_t j = lane_index(); j < tree_.d; j += kWarp) {
      rounded_[j] = query_[j].below;
      exact = exact && query_[j].below == query_[j].above;
    }
    __syncwarp();
    is_float32_ = __all_sync(kAllLanes, exact);
    own_ = queries_.excluded_by(q);
    nearest_.load(lists, q, queries_.neighbors);
  }

  __device__ float& bound_at(int level) { return state_.bounds[warp_][level][lane_index()]; }

  __device__ void open(int level, std::int64_t family) { bound_at(level) = family_bound(tree_, query_, level, family); }

  /// The node of a family that is nearest to a query which may need it, now marked as visited; -1: none. The same for
  /// all warps. bound: this warp's.
  __device__ int choose(int level, std::int64_t family, float& bound) {
    constexpr unsigned kNone = ~0U;
    const float mine = bound_at(level);
    const std::int64_t node = (tree_.families[level] + family) * kCellRows + lane_index();
    if (may_hold(tree_, queries_, nearest_, mine, node))
      atomicMin(&state_.nearest[turn_][lane_index()], __float_as_uint(mine));  // bounds are not negative
    __syncthreads();
    const unsigned order = state_.nearest[turn_][lane_index()];
    // The third of the three is not read before the next barrier.
    const int last = turn_ == 0 ? 2 : turn_ - 1;
    if (warp_ == 0) state_.nearest[last][lane_index()] = kNone;
    turn_ = turn_ == 2 ? 0 : turn_ + 1;
    const unsigned smallest = __reduce_min_sync(kAllLanes, order);
    if (smallest == kNone) return -1;
    const int child = __ffs(static_cast<int>(__ballot_sync(kAllLanes, order == smallest))) - 1;
    bound = __shfl_sync(kAllLanes, mine, child);
    if (lane_index() == child) bound_at(level) = __int_as_float(0x7FFFFFFF);
    return child;
  }

  __device__ unsigned char* leaf_memory(int stage) { return memory_ + stage * leaf_bytes<T>(tree_.d); }

  /// Starts copying a leaf. Called by all threads of the block.
  __device__ void copy_leaf(std::int64_t leaf, int stage) {
    const std::int64_t bytes = kCellRows * tree_.d * std::int64_t{sizeof(T)};
    const auto* values = reinterpret_cast<const unsigned char*>(tree_.values) + leaf * bytes;
    const auto* rows = reinterpret_cast<const unsigned char*>(tree_.row + leaf * kCellRows);
    const std::uint32_t to = shared_address(leaf_memory(stage));
    for (std::int64_t at = threadIdx.x * kAligned; at < leaf_bytes<T>(tree_.d); at += kThreads * kAligned)
      copy_chunk(to + static_cast<std::uint32_t>(at), at < bytes ? values + at : rows + (at - bytes));
  }

  /// bound: a lower bound of D to all rows of the leaf.
  __device__ void visit_leaf(std::int64_t leaf, float bound, int stage) {
    if (!may_hold(tree_, queries_, nearest_, bound, tree_.families[0] * kCellRows + leaf)) return;
    if (++leaves_ > queries_.most_leaves) {
      nearest_.last_distance = -1.0;
      return;
    }
    const int d = static_cast<int>(tree_.d);
    const T* values = reinterpret_cast<const T*>(leaf_memory(stage));
    const auto value = [&](int j, int lane) { return values[lane + j * kCellRows]; };
    const auto side = [&](int j) { return static_cast<float>(value(j, lane_index())); };
    const std::int32_t row =
        reinterpret_cast<const std::int32_t*>(leaf_memory(stage) + d * kCellRows * sizeof(T))[lane_index()];
    const bool exists = row != kNoCellRow && row != own_;
    const float least = is_float32_ ? row_bound(side, rounded_, d) : box_bound<float>(query_, d, side, side);
    const unsigned chosen = __ballot_sync(kAllLanes, exists && static_cast<double>(least) <= nearest_.last_distance);
    if (chosen != 0) offer_lanes(chosen, value, query_, d, queries_.first_row + row, nearest_);
  }

  const CellView<T>& tree_;
  const CellQueries& queries_;
  unsigned char* memory_;
  BlockState& state_;
  int warp_, turn_ = 0;
  CellValue* query_;         // this warp's
  float* rounded_;           // the same in float32
  bool is_float32_ = false;  // which holds it exactly
  std::int64_t own_ = -1;    // position of the row that the list excludes
  std::int64_t leaves_ = 0;
  NearestRows<kSlots> nearest_;
};

#endif

/// order: (count) the queries.
template <class T, int kSlots>
__global__ void __launch_bounds__(kThreads, 2)
    shared_cells_kernel(const __grid_constant__ CellView<T> tree, const __grid_constant__ CellQueries queries,
                        const std::int32_t* order, const __grid_constant__ CellOutcome out) {
#ifdef KITH_AMPERE
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ BlockState state;
  const std::int64_t place = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const std::int64_t q = place < queries.count ? order[place] : -1;
  SharedWalk<T, kSlots> walk(tree, queries, memory, state);
  const std::int64_t leaves = walk.run(q, out.lists);
  if (q < 0 || lane_index() != 0) return;
  if (out.given_up != nullptr) out.given_up[q] = leaves > queries.most_leaves ? 1 : 0;
  atomicAdd(out.measured, static_cast<Word>(leaves) * kCellRows);
#endif
}

/// The leaf that is reached from the root by the nearest node of each level, for each query. Shared memory: kWarps d
/// values of type CellValue.
template <class T>
__global__ void __launch_bounds__(kThreads)
    homes_kernel(const __grid_constant__ CellView<T> tree, const __grid_constant__ CellQueries queries,
                 std::uint64_t* home, std::int32_t* order) {
  extern __shared__ __align__(16) unsigned char memory[];
  CellValue* query = reinterpret_cast<CellValue*>(memory) + threadIdx.x / kWarp * tree.d;
  for (std::int64_t q = warp_index(); q < queries.count; q += warp_count()) {
    load_query(queries, q, tree.d, query);
    std::int64_t node = 0;  // family of the next level
    for (int level = tree.levels - 1; level >= 0; --level) {
      const float bound = family_bound(tree, query, level, node);
      const unsigned bits = bound >= 0 ? __float_as_uint(bound) : ~0U;
      const unsigned smallest = __reduce_min_sync(kAllLanes, bits);
      node = node * kCellRows + __ffs(static_cast<int>(__ballot_sync(kAllLanes, bits == smallest))) - 1;
    }
    __syncwarp();  // before the next query replaces this one
    if (lane_index() != 0) continue;
    home[q] = static_cast<std::uint64_t>(node);
    order[q] = static_cast<std::int32_t>(q);
  }
}

}  // namespace

template <class T>
bool shares_cells(const HeldRows<T>& held, const CellQueries& queries) {
  // On an H200 10 000 queries in 10 000 rows each take 0.7 of the time, 2000 of them 1.4 times as long: a block waits
  // for the slowest of its queries, and few queries of a cluster share blocks with those of others.
  constexpr std::int64_t kFewestQueries = 4096, kFewestRows = 2048;
  if constexpr (std::is_same_v<T, double>) {
    return false;
  } else {
    if (held.columns() <= kLanes || held.columns() > kMostSharedColumns || queries.only_filled) return false;
    const double rows = held.cells.share * static_cast<double>(held.rows());  // that a query visits
    const bool pays = queries.count >= kFewestQueries && rows >= static_cast<double>(kFewestRows);
    if (!pays && !(held.context->forced.cells && queries.count > kWarps)) return false;
    int major = 0, most = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, held.context->device));
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, held.context->device));
    return major >= 8 && shared_bytes<T>(held.columns()) + std::int64_t{sizeof(float)} * 2048 <= most;
  }
}

template <class T>
void launch_shared_cells(const HeldRows<T>& held, const CellQueries& queries, const CellOutcome& out) {
  if constexpr (!std::is_same_v<T, double>) {
    const Context& context = *held.context;
    const CellView<T>& tree = held.cells.tree.view;
    const std::int64_t count = queries.count;
    const Buffer<std::uint64_t> keys(held.pool(), 2 * count);
    const Buffer<std::int32_t> rows(held.pool(), 2 * count);
    CellOrder order{{keys.data(), keys.data() + count}, {rows.data(), rows.data() + count}, count, 0};
    const int bits = std::bit_width(static_cast<std::uint64_t>(tree.nodes[0]));
    std::size_t bytes = 0;
    sort_by_key(context.stream, order, bits, nullptr, bytes);
    const Buffer<std::byte> temporary(held.pool(), static_cast<std::int64_t>(bytes));
    const auto home_bytes = static_cast<int>(kWarps * tree.d * std::int64_t{sizeof(CellValue)});
    check(cudaFuncSetAttribute(homes_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, home_bytes));
    homes_kernel<T><<<context.grid(count, kWarps), kThreads, home_bytes, context.stream>>>(tree, queries, order.key[0],
                                                                                           order.row[0]);
    check(cudaGetLastError());
    sort_by_key(context.stream, order, bits, temporary.data(), bytes);
    const auto kernel = queries.neighbors <= kWarp ? shared_cells_kernel<T, 1> : shared_cells_kernel<T, 4>;
    const auto shared = static_cast<int>(shared_bytes<T>(tree.d));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const auto blocks = static_cast<unsigned>((count + kWarps - 1) / kWarps);
    kernel<<<blocks, kThreads, shared, context.stream>>>(tree, queries, order.row[order.current], out);
    check(cudaGetLastError());
  }
}

#define KITH_INSTANTIATE(T)                                           \
  template bool shares_cells(const HeldRows<T>&, const CellQueries&); \
  template void launch_shared_cells(const HeldRows<T>&, const CellQueries&, const CellOutcome&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
