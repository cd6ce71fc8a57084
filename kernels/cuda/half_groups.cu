// Brings rows together by group, then multiplies each group's rows with its 32 columns.
//
// For 10^6 x 128 rows the half-precision copies move once, 0.26 GB, 0.06 ms on an H200, whatever the number of
// centroids; sorting the rows moves 16 bytes of each. Which place a row has in its bin changes from run to run; what is
// found for it does not depend on it.
#include "kernels/cuda/half_groups.h"

#include <limits>

#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBinWarps = 8;
constexpr int kWarpRows = GroupRoom::kBinRows / kBinWarps;  // one fragment
constexpr std::int64_t kChunk = 4096;                       // rows that a block counts before it reserves their places
constexpr std::int32_t kOpenFlag = 1 << 30;                 // with a row that is in two groups; blocks are smaller
constexpr std::int32_t kOpen = 0x7F7F7F7F;                  // as nearest of an open row: above every column
constexpr std::int64_t kCountedGroups = 8192;               // groups whose counts fit in shared memory

/// Rows of each group. Few groups are counted in shared memory first.
__global__ void count_kernel(RowGroups of, std::int64_t rows, std::int64_t groups, unsigned* sizes) {
  extern __shared__ unsigned counts[];
  const bool shared = groups <= kCountedGroups;
  for (std::int64_t g = threadIdx.x; shared && g < groups; g += blockDim.x) counts[g] = 0;
  __syncthreads();
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    for (const std::int32_t g : {of.first[row], of.second[row]}) {
      if (g != RowGroups::kNone) atomicAdd(shared ? &counts[g] : &sizes[g], 1U);
    }
  }
  __syncthreads();
  for (std::int64_t g = threadIdx.x; shared && g < groups; g += blockDim.x) {
    if (counts[g] != 0) atomicAdd(&sizes[g], counts[g]);
  }
}

/// One block: bins of each group follow those of the group before.
__global__ void first_bin_kernel(const unsigned* sizes, std::int64_t groups, unsigned* first_bin,
                                 std::int32_t* bin_group) {
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
  __syncthreads();
  for (std::int64_t g = threadIdx.x / kWarp; g < groups; g += kBlockWarps) {
    for (unsigned bin = first_bin[g] + lane_index(); bin < first_bin[g + 1]; bin += kWarp) {
      bin_group[bin] = static_cast<std::int32_t>(g);
    }
  }
}

/// Puts rows into their bins: a block counts a chunk, reserves places once for each group, then fills them.
__global__ void place_kernel(RowGroups of, std::int64_t rows, std::int64_t groups, const unsigned* first_bin,
                             unsigned* filled, std::int32_t* order, Word* open_rows) {
  extern __shared__ unsigned places[];
  Word open = 0;
  const auto put = [&](std::int64_t row, bool open, std::int32_t g, unsigned* next) {
    if (g == RowGroups::kNone) return;
    order[first_bin[g] * GroupRoom::kBinRows + atomicAdd(&next[g], 1U)] =
        static_cast<std::int32_t>(row) | (open ? kOpenFlag : 0);
  };
  const auto put_row = [&](std::int64_t row, unsigned* next) {
    const std::int32_t first = of.first[row], second = of.second[row];
    open += second != RowGroups::kNone ? 1 : 0;
    put(row, second != RowGroups::kNone, first, next);
    put(row, second != RowGroups::kNone, second, next);
  };
  if (groups > kCountedGroups) {
    for (std::int64_t row = thread_index(); row < rows; row += thread_count()) put_row(row, filled);
  }
  for (std::int64_t first = groups > kCountedGroups ? rows : blockIdx.x * kChunk; first < rows;
       first += gridDim.x * kChunk) {
    const std::int64_t last = min(first + kChunk, rows);
    for (std::int64_t g = threadIdx.x; g < groups; g += blockDim.x) places[g] = 0;
    __syncthreads();
    for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
      for (const std::int32_t g : {of.first[row], of.second[row]}) {
        if (g != RowGroups::kNone) atomicAdd(&places[g], 1U);
      }
    }
    __syncthreads();
    for (std::int64_t g = threadIdx.x; g < groups; g += blockDim.x) {
      if (places[g] != 0) places[g] = atomicAdd(&filled[g], places[g]);
    }
    __syncthreads();
    for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) put_row(row, places);
    __syncthreads();
  }
  open = block_sum(open);
  if (threadIdx.x == 0 && open != 0) atomicAdd(open_rows, open);
}

/// What is made of a bin's scores.
enum class BinWork {
  labels,
  labels_and_gaps,
  best,  // the label of the best score, which nothing proves
};

struct BinArguments {
  const uint4* points;   // pieces of the block's rows
  const uint4* columns;  // pieces of the centroids
  const float* score_base;
  const float* limit;             // (rows)
  const std::int32_t* order;      // (bins, kBinRows)
  const std::int32_t* bin_group;  // (bins)
  HalfShape point_shape, column_shape;
  const HalfBound* bound;
  GapOutput gaps;
  std::int32_t* nearest;
  Word* smallest;  // (rows) of RecheckRoom
  Word* open_rows;
  CandidateOutput candidates;
};

/// A block takes a bin, a warp 16 of its rows. A thread loads whole units of 8 halves and uses them as the halves of
/// two products: it loads those of the columns alike, so that the same are multiplied. Units of the next piece are on
/// their way while those of this one are multiplied.
template <BinWork kWork>
__global__ void __launch_bounds__(kBinWarps* kWarp, 3) bin_kernel(const __grid_constant__ BinArguments arguments) {
  constexpr int kColumnUnits = kGroupColumns * kRowUnits / (kBinWarps * kWarp);  // that a thread brings
  __shared__ uint4 columns[2][kGroupColumns * kRowUnits];
  const std::int32_t* rows = arguments.order + static_cast<std::int64_t>(blockIdx.x) * GroupRoom::kBinRows;
  const std::int32_t first_entry = __ldg(rows);
  if (first_entry < 0) return;  // bins are filled from their beginning
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp, i = lane / 4, q = lane % 4;
  const HalfShape shape = arguments.point_shape;
  std::int32_t entry[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) entry[r] = __ldg(rows + warp * kWarpRows + 8 * r + i);
  // Places without a row take the first one's values, and nobody looks at their products.
  const uint4* unit[2][2];
  float limit[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const std::int32_t real = (entry[r] >= 0 ? entry[r] : first_entry) & ~kOpenFlag;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      // Units beyond the columns meet zeros among the centroids; what is loaded only has to be a number.
      unit[r][s] = arguments.points + shape.place(real, 0, 4 * s + q < shape.units ? 4 * s + q : 0);
    }
    limit[r] = __ldg(arguments.limit + real);
  }

  uint4 next[2][2];
  const auto load_rows = [&](int piece) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int s = 0; s < 2; ++s) next[r][s] = __ldg(unit[r][s] + piece * (kPieceRows * kRowUnits));
    }
  };
  load_rows(0);
  const std::int64_t first_column = std::int64_t{__ldg(arguments.bin_group + blockIdx.x)} * kGroupColumns;
  uint4 brought[kColumnUnits];
  const auto load_columns = [&](int piece) {
#pragma unroll
    for (int t = 0; t < kColumnUnits; ++t) {
      const int at = static_cast<int>(threadIdx.x) + t * kBinWarps * kWarp, c = at / kRowUnits;
      brought[t] = __ldg(arguments.columns +
                         arguments.column_shape.place(slot_of_column(first_column + c), piece, at % kRowUnits));
    }
  };
  load_columns(0);

  float product[4][4] = {};
  for (int piece = 0; piece < shape.pieces; ++piece) {
    uint4 x[2][2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int s = 0; s < 2; ++s) x[r][s] = next[r][s];
    }
    uint4* held = columns[piece % 2];
#pragma unroll
    for (int t = 0; t < kColumnUnits; ++t) {
      const int at = static_cast<int>(threadIdx.x) + t * kBinWarps * kWarp, c = at / kRowUnits;
      held[c * kRowUnits + (at % kRowUnits ^ (c % 8))] = brought[t];
    }
    if (piece + 1 < shape.pieces) {
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
        const uint4 &upper = x[0][s], &lower = x[1][s];
        multiply_16x8x16(product[n], {upper.x, upper.y}, {lower.x, lower.y}, {b.x, b.y});
        multiply_16x8x16(product[n], {upper.z, upper.w}, {lower.z, lower.w}, {b.z, b.w});
      }
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    unsigned within = 0;
    float best = std::numeric_limits<float>::infinity();
    int best_column = 0;
    float other = std::numeric_limits<float>::infinity();  // smallest score above the limit
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int c = 8 * n + 2 * q + e;
        const float score =
            __fsub_rn(__ldg(&arguments.score_base[base_place(first_column + c)]), product[n][r * 2 + e]);
        const bool above = score > limit[r];  // written so that a NaN is within
        if (!above) within |= 1U << c;
        if (kWork == BinWork::labels_and_gaps && above) other = fminf(other, score);
        if (kWork == BinWork::best && score < best) {
          best = score;
          best_column = c;
        }
      }
    }
    if constexpr (kWork == BinWork::best) {
#pragma unroll
      for (int w = 1; w <= 2; w *= 2) {
        const float other_best = __shfl_xor_sync(kAllLanes, best, w);
        const int other_column = __shfl_xor_sync(kAllLanes, best_column, w);
        best_column = other_best < best ? other_column : best_column;
        best = fminf(best, other_best);
      }
      if (q == 0 && entry[r] >= 0) arguments.nearest[entry[r]] = static_cast<std::int32_t>(first_column) + best_column;
      continue;
    }
    within |= __shfl_xor_sync(kAllLanes, within, 1);
    within |= __shfl_xor_sync(kAllLanes, within, 2);
    if constexpr (kWork == BinWork::labels_and_gaps) {
      other = fminf(other, __shfl_xor_sync(kAllLanes, other, 1));
      other = fminf(other, __shfl_xor_sync(kAllLanes, other, 2));
    }
    const bool mine = q == 0 && entry[r] >= 0, flagged = (entry[r] & kOpenFlag) != 0;
    const bool open = mine && (flagged || __popc(within) != 1);
    const std::int32_t row = entry[r] & ~kOpenFlag;
    if (mine) {
      arguments.nearest[row] =
          open ? kOpen : static_cast<std::int32_t>(first_column) + __ffs(static_cast<int>(within)) - 1;
      if constexpr (kWork == BinWork::labels_and_gaps) {
        const GapOutput& gaps = arguments.gaps;
        if (open) {
          gaps.clear(row);
        } else {
          gaps.keep(row, limit[r], fminf(other, gaps.gap[row]), arguments.bound->grid.bias);
        }
      }
    }
    if (!__any_sync(kAllLanes, open)) continue;
    if (open) arguments.smallest[row] = ~Word{0};
    count_lanes(open && !flagged, arguments.open_rows);
    arguments.candidates.add(open ? within : 0U, row, static_cast<std::int32_t>(first_column));
  }
}

__global__ void leave_kernel(const std::int32_t* nearest, const float* limit, std::int64_t rows, Undecided undecided) {
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    undecided.leave(row < rows && nearest[row] == kOpen, row, row < rows ? limit[row] : 0.0F);
  }
}

std::int64_t most_bins(std::int64_t rows, std::int64_t groups) { return 2 * rows / GroupRoom::kBinRows + groups; }

}  // namespace

GroupRoom::GroupRoom(Pool& pool, std::int64_t rows, std::int64_t columns)
    : groups((columns + kGroupColumns - 1) / kGroupColumns),
      first(pool, rows),
      second(pool, rows),
      limit(pool, rows),
      order(pool, most_bins(rows, groups) * kBinRows),
      sizes(pool, groups),
      first_bin(pool, groups + 1),
      filled(pool, groups),
      bin_group(pool, most_bins(rows, groups)) {}

template <class T>
void nearest_in_groups(const HeldRows<T>& held, const HalfColumns& columns, const LookedRows& rows,
                       const GroupRoom& groups, const RecheckRoom& room, HalfLeft* left) {
  const Stream& stream = held.stream();
  const std::int64_t bins = most_bins(rows.count, groups.groups);
  stream.fill(groups.sizes.data(), 0, groups.groups);
  stream.fill(groups.filled.data(), 0, groups.groups);
  stream.fill(groups.order.data(), 0xFF, bins * GroupRoom::kBinRows);
  const std::size_t shared =
      groups.groups <= kCountedGroups ? static_cast<std::size_t>(groups.groups) * sizeof(unsigned) : 0;
  const unsigned blocks = held.context->grid(rows.count, kChunk);
  count_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, groups.groups, groups.sizes.data());
  check(cudaGetLastError());
  first_bin_kernel<<<1, kBlock, 0, stream>>>(groups.sizes.data(), groups.groups, groups.first_bin.data(),
                                             groups.bin_group.data());
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, groups.groups, groups.first_bin.data(),
                                                   groups.filled.data(), groups.order.data(), &left->open);
  check(cudaGetLastError());
  const BinArguments arguments{rows.pieces,
                               columns.centroids.values.data(),
                               columns.score_base.data(),
                               groups.limit.data(),
                               groups.order.data(),
                               groups.bin_group.data(),
                               held.half.shape,
                               column_shape(held.columns()),
                               columns.bound.data(),
                               rows.gaps,
                               rows.nearest,
                               room.smallest(),
                               &left->open,
                               {room.candidates(), room.capacity(), &left->candidates}};
  auto kernel = rows.gaps ? bin_kernel<BinWork::labels_and_gaps> : bin_kernel<BinWork::labels>;
  if (held.context->left_out.one_look()) kernel = bin_kernel<BinWork::best>;
  kernel<<<static_cast<unsigned>(bins), kBinWarps * kWarp, 0, stream>>>(arguments);
  check(cudaGetLastError());
}

template <class T>
void leave_open_rows(const HeldRows<T>& held, const LookedRows& rows, const GroupRoom& groups,
                     const Undecided& undecided) {
  leave_kernel<<<held.context->grid(rows.count, kBlock), kBlock, 0, held.stream()>>>(rows.nearest, groups.limit.data(),
                                                                                     rows.count, undecided);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                    \
  template void nearest_in_groups(const HeldRows<T>&, const HalfColumns&, const LookedRows&, const GroupRoom&, \
                                  const RecheckRoom&, HalfLeft*);                                              \
  template void leave_open_rows(const HeldRows<T>&, const LookedRows&, const GroupRoom&, const Undecided&);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
