// Prepares the lists and the tiles of local screens, and decides rows by them.
#include "kernels/cuda/assign/local_screen.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cuda/assign/local_tile.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostDepth = 3840;  // so that kUp of local_tile.h covers the roundings of a row
constexpr int kStreamingBlocks = 2;        // of a multiprocessor, whose shared memory holds two stages of each

std::int64_t depth_of(std::int64_t d) { return depth_tiles_of(d) * kFp16TileColumns; }

/// Rounds the columns of the lists that tiles_kernel added; as many lanes of a warp share a column as it has chunks.
__global__ void round_lists_kernel(LocalLists in, ListSlots slots, double accumulation, ListColumns out) {
  const int chunks = in.depth / kChunkValues;
  const bool aligned = is_aligned<double>(in.d);
  const int lanes = lanes_sharing(chunks);
  const int lane = lane_index() % lanes, together = kWarp / lanes;
  const std::int64_t begin = slots.used[0] * in.padded, end = slots.used[1] * in.padded;
  for (std::int64_t first = begin + warp_index() * together; first < end; first += warp_count() * together) {
    const std::int64_t i = first + lane_index() / lanes;  // `padded` is a multiple of `together`
    const std::int64_t guess = slots.guess[i / in.padded];
    const int place = static_cast<int>(i % in.padded);
    const bool exists = place <= in.length;
    const std::int64_t column =
        place == 0 || !exists ? guess : in.lists.entries[guess * in.lists.length + place - 1].column;
    const double scale = ldexp(in.unit, shift_of(in, guess));
    double squares = 0.0, lost = 0.0;
    for (int chunk = lane; chunk < chunks; chunk += lanes) {
      const std::int64_t j = static_cast<std::int64_t>(chunk) * kChunkValues;
      double x[kChunkValues], c[kChunkValues];
      load_chunk(in.centroids + column * in.d + min(j, in.d), in.d - j, aligned, x);
      load_chunk(in.centroids + guess * in.d + min(j, in.d), in.d - j, aligned, c);
#pragma unroll
      for (int t = 0; t < kChunkValues; ++t) x[t] = (x[t] - c[t]) * scale;
      out.values[i * chunks + (chunk ^ (place & 7))] = round_chunk(x, squares, lost);
    }
    squares = group_total(squares, lanes);
    lost = group_total(lost, lanes);
    // A value beyond the range of fp16 has an infinite error.
    if (!(lost <= squares)) squares = lost = std::numeric_limits<double>::infinity();
    ColumnErrors error(__dsqrt_ru(squares), __dsqrt_ru(lost), in.d, in.exponent - shift_of(in, guess), accumulation,
                       out.mask);
    float base =
        exists ? __double2float_rd(squares / 2 - static_cast<double>(error.constant)) : QuantizationGrid::kNever;
    if (!error.is_usable()) {  // such a column is a candidate of every row
      for (int chunk = lane; chunk < chunks; chunk += lanes) out.values[i * chunks + (chunk ^ (place & 7))] = uint4{};
      error.linear = 0.0F;
      error.constant = QuantizationGrid::kNever;
      base = -QuantizationGrid::kNever;
    }
    if (lane != 0) continue;
    out.base[i] = base;
    out.error[i] = error.linear;
    out.constant[i] = error.constant;
  }
}

/// One block: the number of the first tile of each guess, then that of all tiles; and the guess of each tile. Gives
/// slots to guesses that have rows. ends: index behind the last row of each guess.
__global__ void tiles_kernel(const std::uint32_t* ends, std::int64_t clusters, std::uint32_t* first_tile,
                             std::int32_t* guess, ListSlots slots) {
  std::uint32_t before = 0, used = slots.used[1];
  __syncthreads();
  if (threadIdx.x == 0) slots.used[0] = used;
  for (std::int64_t first = 0; first < clusters; first += kBlock) {
    const std::int64_t c = first + threadIdx.x;
    const std::uint32_t begin = c == 0 || c >= clusters ? 0 : ends[c - 1];
    const std::uint32_t tiles = c < clusters ? (ends[c] - begin + kLocalRows - 1) / kLocalRows : 0;
    const BlockPrefix prefix = block_prefix(tiles);
    if (c < clusters) first_tile[c] = before + prefix.before;
    for (std::uint32_t t = 0; t < tiles; ++t) guess[before + prefix.before + t] = static_cast<std::int32_t>(c);
    before += prefix.total;
    const bool needs_list = tiles > 0 && slots.slot[c] < 0;
    if (__syncthreads_or(needs_list) == 0) continue;
    const BlockPrefix lists = block_prefix(needs_list ? 1U : 0U);
    const std::uint32_t place = used + lists.before;
    if (needs_list && place < slots.lists) {
      slots.slot[c] = static_cast<std::int32_t>(place);
      slots.guess[place] = static_cast<std::int32_t>(c);
    }
    used = min(used + lists.total, slots.lists);
  }
  if (threadIdx.x != 0) return;
  first_tile[clusters] = before;
  slots.used[1] = used;
}

template <class T>
__global__ void __launch_bounds__(kLocalThreads, 3) local_kernel(const __grid_constant__ LocalTask<T> task) {
#ifdef KITH_AMPERE
  extern __shared__ uint4 shared[];
  __shared__ SharedTile tile;
  const std::uint32_t tiles = task.first_tile[task.lists.clusters];
  for (std::uint32_t number = blockIdx.x; number < tiles; number += gridDim.x) {
    decide_tile(task, number, shared, tile);
    __syncthreads();
  }
#endif
}

template <class T>
LocalLists lists_of(const HeldRows<T>& held, const double* centroids, std::int64_t clusters,
                    const CentroidListsView& lists, std::int64_t length, std::int64_t padded) {
  const int exponent = fp16_exponent(held.plan.screen);
  return {centroids,
          clusters,
          held.columns(),
          lists,
          length,
          padded,
          static_cast<int>(depth_of(held.columns())),
          power_of_two(-exponent),
          exponent};
}

}  // namespace

template <class T>
bool LocalScreen::supports(const HeldRows<T>& held) {
  return held.context->screen != ScreenPath::float32 && held.columns() <= kMostDepth &&
         held.columns() > kMostFloat32Columns;
}

template <class T>
LocalScreen::LocalScreen(const HeldRows<T>& held, std::int64_t clusters, std::int64_t length, std::int64_t rows)
    : clusters_(clusters),
      length_(length),
      padded_((length + 1 + kLocalColumns - 1) / kLocalColumns * kLocalColumns),
      lists_(std::clamp<std::int64_t>(most_local_lists(length, held.columns()), 1, clusters)),
      values_(held.pool(), lists_ * padded_ * (depth_of(held.columns()) / kChunkValues)),
      scores_(held.pool(), 3 * lists_ * padded_),
      slot_(held.pool(), clusters),
      slot_guess_(held.pool(), lists_),
      used_(held.pool(), 2),
      first_tile_(held.pool(), clusters + 1),
      guess_(held.pool(), rows / kLocalRows + std::min(clusters, rows)),
      row_(held.pool(), rows),
      limit_(held.pool(), rows),
      count_(held.pool(), 1) {
  const std::int64_t depth = depth_of(held.columns());
  if (depth > kResidentDepth) {
    const std::int64_t blocks = std::min(guess_.size(), std::int64_t{kStreamingBlocks} * held.context->multiprocessors);
    rounded_ = Buffer<uint4>(held.pool(), blocks * kLocalRows * depth / kChunkValues);
  }
  held.stream().fill(slot_.data(), 0xFF, clusters_);
  held.stream().fill(used_.data(), 0, 2);
}

ListColumns LocalScreen::columns(std::int64_t d) const {
  const std::int64_t each = lists_ * padded_;
  float* const scores = scores_.data();
  return {values_.data(),
          scores,
          scores + each,
          scores + 2 * each,
          static_cast<unsigned>(std::bit_ceil(static_cast<std::uint64_t>(padded_))) - 1U,
          screen_margin({1.0, 1.0}, d, 0, {}).quadratic};
}

ListSlots LocalScreen::slots() const {
  return {slot_.data(), slot_guess_.data(), used_.data(), static_cast<std::uint32_t>(lists_)};
}

template <class T>
void LocalScreen::decide(const HeldRows<T>& held, const T* values, const double* centroids,
                         const CentroidListsView& lists, const LocalRequest& rows) {
  const Context& context = *held.context;
  const LocalLists local = lists_of(held, centroids, clusters_, lists, length_, padded_);
  context.stream.fill(count_.data(), 0, 1);
  tiles_kernel<<<1, kBlock, 0, context.stream>>>(rows.order.ends(), clusters_, first_tile_.data(), guess_.data(),
                                                 slots());
  check(cudaGetLastError());
  round_lists_kernel<<<context.grid(lists_ * padded_, kBlockWarps * 2), kBlock, 0, context.stream>>>(
      local, slots(), tensor_accumulation(held.columns()), columns(held.columns()));
  check(cudaGetLastError());
  const std::int64_t tiles = rows.rows.count / kLocalRows + std::min(clusters_, rows.rows.count);  // at most
  const bool resident = local.depth <= kResidentDepth;
  const std::int64_t bytes = resident ? (kLocalRows + 2 * kLocalColumns) * local.depth * 2 : 2 * kSlabBytes,
                     blocks = resident ? tiles
                                       : std::min(tiles, rounded_.size() / (kLocalRows * local.depth / kChunkValues));
  check(cudaFuncSetAttribute(local_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  local_kernel<<<static_cast<unsigned>(blocks), kLocalThreads, bytes, context.stream>>>(LocalTask<T>{
      local, columns(held.columns()), values, rows.rows, rows.order.order(), rows.order.ends(), first_tile_.data(),
      guess_.data(), slot_.data(), rounded_.data(), rows.limit, rows.nearest, rest(), rows.distances});
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                \
  template bool LocalScreen::supports(const HeldRows<T>&);                                                 \
  template LocalScreen::LocalScreen(const HeldRows<T>&, std::int64_t, std::int64_t, std::int64_t);         \
  template void LocalScreen::decide(const HeldRows<T>&, const T*, const double*, const CentroidListsView&, \
                                    const LocalRequest&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
