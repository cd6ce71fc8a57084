// Brings rows together by group, then multiplies each group's rows with its 32 columns.
//
// For 10^6 x 128 rows the half-precision copies move once, 0.26 GB, 0.06 ms on an H200, whatever the number of
// centroids; sorting the rows moves 16 bytes of each. Which place a row has in its bin changes from run to run; what is
// found for it does not depend on it.
#include "kernels/cuda/half_groups.h"

#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBinWarps = 4;
constexpr int kWarpRows = GroupRoom::kBinRows / kBinWarps;  // two fragments of 16
constexpr std::int64_t kChunk = 4096;                       // rows that a block counts before it reserves their places
constexpr std::int64_t kCountedGroups = 8192;               // groups whose counts fit in shared memory

/// Rows of each group. Few groups are counted in shared memory first.
__global__ void count_kernel(const std::int32_t* group, std::int64_t rows, std::int64_t groups, unsigned* sizes) {
  extern __shared__ unsigned counts[];
  const bool shared = groups <= kCountedGroups;
  for (std::int64_t g = threadIdx.x; shared && g < groups; g += blockDim.x) counts[g] = 0;
  __syncthreads();
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const std::int32_t g = group[row];
    if (g >= 0) atomicAdd(shared ? &counts[g] : &sizes[g], 1U);
  }
  __syncthreads();
  for (std::int64_t g = threadIdx.x; shared && g < groups; g += blockDim.x) {
    if (counts[g] != 0) atomicAdd(&sizes[g], counts[g]);
  }
}

/// One block: bins of each group follow those of the group before.
__global__ void first_bin_kernel(const unsigned* sizes, std::int64_t groups, unsigned* first_bin) {
  unsigned running = 0;
  for (std::int64_t base = 0; base < groups; base += kBlock) {
    const std::int64_t g = base + threadIdx.x;
    const unsigned bins =
        g < groups ? static_cast<unsigned>((sizes[g] + GroupRoom::kBinRows - 1) / GroupRoom::kBinRows) : 0U;
    const BlockPrefix prefix = block_prefix(bins);
    if (g < groups) first_bin[g] = running + prefix.before;
    running += prefix.total;
  }
  if (threadIdx.x == 0) first_bin[groups] = running;
}

/// Puts rows into their bins: a block counts a chunk, reserves places once for each group, then fills them.
__global__ void place_kernel(const std::int32_t* group, std::int64_t rows, std::int64_t groups,
                             const unsigned* first_bin, unsigned* filled, std::int32_t* order) {
  extern __shared__ unsigned places[];
  const auto put = [&](std::int64_t row, std::int32_t g, unsigned place) {
    order[first_bin[g] * GroupRoom::kBinRows + place] = static_cast<std::int32_t>(row);
  };
  if (groups > kCountedGroups) {
    for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
      if (group[row] >= 0) put(row, group[row], atomicAdd(&filled[group[row]], 1U));
    }
    return;
  }
  for (std::int64_t first = blockIdx.x * kChunk; first < rows; first += gridDim.x * kChunk) {
    const std::int64_t last = min(first + kChunk, rows);
    for (std::int64_t g = threadIdx.x; g < groups; g += blockDim.x) places[g] = 0;
    __syncthreads();
    for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
      if (group[row] >= 0) atomicAdd(&places[group[row]], 1U);
    }
    __syncthreads();
    for (std::int64_t g = threadIdx.x; g < groups; g += blockDim.x) {
      if (places[g] != 0) places[g] = atomicAdd(&filled[g], places[g]);
    }
    __syncthreads();
    for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
      if (group[row] >= 0) put(row, group[row], atomicAdd(&places[group[row]], 1U));
    }
    __syncthreads();
  }
}

struct BinArguments {
  const uint4* points;   // pieces of the block's rows
  const uint4* columns;  // pieces of the centroids
  const float* score_base;
  const std::int32_t* group;  // (rows)
  const float* limit;         // (rows)
  const std::int32_t* order;  // (bins, kBinRows)
  int pieces;
  std::int32_t* nearest;
  Undecided undecided;
};

/// A block takes a bin, a warp 32 of its rows. A thread loads whole units of 8 halves and uses them as the halves of
/// two products: it loads those of the columns alike, so that the same are multiplied. Units of the next piece are on
/// their way while those of this one are multiplied.
__global__ void __launch_bounds__(kBinWarps* kWarp) bin_kernel(const __grid_constant__ BinArguments arguments) {
  constexpr int kColumnUnits = kGroupColumns * kRowUnits / (kBinWarps * kWarp);  // that a thread brings
  __shared__ uint4 columns[2][kGroupColumns * kRowUnits];
  const std::int32_t* rows = arguments.order + static_cast<std::int64_t>(blockIdx.x) * GroupRoom::kBinRows;
  const std::int32_t first_row = __ldg(rows);
  if (first_row < 0) return;  // bins are filled from their beginning
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp, i = lane / 4, q = lane % 4;
  std::int32_t row[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) row[r] = __ldg(rows + warp * kWarpRows + 8 * r + i);

  uint4 next[4][2];
  const auto load_rows = [&](int piece) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        next[r][s] = row[r] >= 0 ? __ldg(arguments.points + unit_place(row[r], piece, 4 * s + q, arguments.pieces))
                                 : uint4{};
      }
    }
  };
  load_rows(0);
  const std::int64_t first_column = static_cast<std::int64_t>(arguments.group[first_row]) * kGroupColumns;
  uint4 brought[kColumnUnits];
  const auto load_columns = [&](int piece) {
#pragma unroll
    for (int t = 0; t < kColumnUnits; ++t) {
      const int at = static_cast<int>(threadIdx.x) + t * kBinWarps * kWarp, c = at / kRowUnits;
      brought[t] = __ldg(arguments.columns +
                         unit_place(slot_of_column(first_column + c), piece, at % kRowUnits, arguments.pieces));
    }
  };
  load_columns(0);

  float product[2][4][4] = {};
  for (int piece = 0; piece < arguments.pieces; ++piece) {
    uint4 x[4][2];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int s = 0; s < 2; ++s) x[r][s] = next[r][s];
    }
    uint4* held = columns[piece % 2];
#pragma unroll
    for (int t = 0; t < kColumnUnits; ++t) {
      const int at = static_cast<int>(threadIdx.x) + t * kBinWarps * kWarp, c = at / kRowUnits;
      held[c * kRowUnits + (at % kRowUnits ^ (c % 8))] = brought[t];
    }
    if (piece + 1 < arguments.pieces) {
      load_rows(piece + 1);
      load_columns(piece + 1);
    }
    __syncthreads();  // and the columns of two pieces before have been read
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int c = 8 * n + i;
        const uint4 b = held[c * kRowUnits + ((4 * s + q) ^ (c % 8))];
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          const uint4 &upper = x[2 * m][s], &lower = x[2 * m + 1][s];
          multiply_16x8x16(product[m][n], {upper.x, upper.y}, {lower.x, lower.y}, {b.x, b.y});
          multiply_16x8x16(product[m][n], {upper.z, upper.w}, {lower.z, lower.w}, {b.z, b.w});
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const float limit = row[r] >= 0 ? arguments.limit[row[r]] : 0.0F;
    unsigned within = 0;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int c = 8 * n + 2 * q + e;
        const float score =
            __fsub_rn(__ldg(&arguments.score_base[base_place(first_column + c)]), product[r / 2][n][r % 2 * 2 + e]);
        if (!(score > limit)) within |= 1U << c;  // written so that a NaN is within
      }
    }
    within |= __shfl_xor_sync(kAllLanes, within, 1);
    within |= __shfl_xor_sync(kAllLanes, within, 2);
    const bool mine = q == 0 && row[r] >= 0, decided = __popc(within) == 1;
    if (mine && decided) {
      arguments.nearest[row[r]] = static_cast<std::int32_t>(first_column) + __ffs(static_cast<int>(within)) - 1;
    }
    const Word place = append(mine && !decided, arguments.undecided.count);
    if (!mine || decided) continue;
    arguments.undecided.row[place] = row[r];
    arguments.undecided.limit[place] = limit;
  }
}

std::int64_t most_bins(std::int64_t rows, std::int64_t groups) { return rows / GroupRoom::kBinRows + groups; }

}  // namespace

GroupRoom::GroupRoom(Pool& pool, std::int64_t rows, std::int64_t columns)
    : groups((columns + kGroupColumns - 1) / kGroupColumns),
      group(pool, rows),
      limit(pool, rows),
      order(pool, most_bins(rows, groups) * kBinRows),
      sizes(pool, groups),
      first_bin(pool, groups + 1),
      filled(pool, groups) {}

template <class T>
void nearest_in_groups(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                       const GroupRoom& room, std::int32_t* nearest, const Undecided& undecided) {
  const Stream& stream = held.stream();
  const std::int64_t bins = most_bins(block.rows, room.groups);
  stream.fill(room.sizes.data(), 0, room.groups);
  stream.fill(room.filled.data(), 0, room.groups);
  stream.fill(room.order.data(), 0xFF, bins * GroupRoom::kBinRows);
  const std::size_t shared =
      room.groups <= kCountedGroups ? static_cast<std::size_t>(room.groups) * sizeof(unsigned) : 0;
  const unsigned blocks = held.context->grid(block.rows, kChunk);
  count_kernel<<<blocks, kBlock, shared, stream>>>(room.group.data(), block.rows, room.groups, room.sizes.data());
  check(cudaGetLastError());
  first_bin_kernel<<<1, kBlock, 0, stream>>>(room.sizes.data(), room.groups, room.first_bin.data());
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(room.group.data(), block.rows, room.groups, room.first_bin.data(),
                                                   room.filled.data(), room.order.data());
  check(cudaGetLastError());
  const std::int64_t pieces = pieces_of(held.columns());
  const BinArguments arguments{held.half.values.data() + block.first / kPieceRows * pieces * (kPieceBytes / 16),
                               columns.centroids.values.data(),
                               columns.score_base.data(),
                               room.group.data(),
                               room.limit.data(),
                               room.order.data(),
                               static_cast<int>(pieces),
                               nearest,
                               undecided};
  bin_kernel<<<static_cast<unsigned>(bins), kBinWarps * kWarp, 0, stream>>>(arguments);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                  \
  template void nearest_in_groups(const HeldRows<T>&, const HalfColumns&, const Block<T>&, const GroupRoom&, \
                                  std::int32_t*, const Undecided&);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
