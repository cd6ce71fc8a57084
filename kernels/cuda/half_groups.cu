// Brings rows together by group, then multiplies each group's rows with its 32 columns.
//
// For 10^6 x 128 rows the half-precision copies move once, 0.26 GB, 0.06 ms on an H200, whatever the number of
// centroids; sorting the rows moves 16 bytes of each. Which place a row has in its bin changes from run to run; what is
// found for it does not depend on it.
#include "kernels/cuda/half_groups.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBinWarps = 8;
constexpr int kBinBlocks = 4;                               // of a multiprocessor
constexpr int kWarpRows = GroupRoom::kBinRows / kBinWarps;  // one fragment
constexpr std::int64_t kChunk = 4096;                       // rows that a block counts before it reserves their places
constexpr std::int32_t kOpenFlag = 1 << 30;                 // with a row that is in two groups; blocks are smaller
constexpr std::int32_t kOpen = 0x7F7F7F7F;                  // as nearest of an open row: above every column
constexpr std::int64_t kCountedGroups = 8192;               // groups whose counts fit in shared memory

/// Rows of each part and group.
struct GroupSizes {
  unsigned* size;  // (parts, groups)
  std::int64_t groups, part_rows;

  __device__ unsigned* of_part(std::int64_t row) const { return size + row / part_rows * groups; }
};

/// work(first, last) on the chunks of a block's rows, which parts have whole numbers of. Few groups have counters in
/// shared memory, which are zero then; more count in memory at once.
template <class Work>
__device__ void for_chunks(std::int64_t rows, std::int64_t groups, unsigned* counts, const Work& work) {
  for (std::int64_t first = blockIdx.x * kChunk; first < rows; first += gridDim.x * kChunk) {
    for (std::int64_t g = threadIdx.x; groups <= kCountedGroups && g < groups; g += blockDim.x) counts[g] = 0;
    __syncthreads();
    work(first, min(first + kChunk, rows));
    __syncthreads();
  }
}

__device__ void count_chunk(const RowGroups& of, std::int64_t first, std::int64_t last, unsigned* counts) {
  for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
    for (const std::int32_t g : {of.first[row], of.second[row]}) {
      if (g != RowGroups::kNone) atomicAdd(&counts[g], 1U);
    }
  }
}

__global__ void count_kernel(RowGroups of, std::int64_t rows, GroupSizes sizes) {
  extern __shared__ unsigned counts[];
  for_chunks(rows, sizes.groups, counts, [&](std::int64_t first, std::int64_t last) {
    unsigned* all = sizes.of_part(first);
    if (sizes.groups > kCountedGroups) return count_chunk(of, first, last, all);
    count_chunk(of, first, last, counts);
    __syncthreads();
    for (std::int64_t g = threadIdx.x; g < sizes.groups; g += blockDim.x) {
      if (counts[g] != 0) atomicAdd(&all[g], counts[g]);
    }
  });
}

/// One block: bins of each group follow those of the group before, and parts follow each other. first_bin: (parts,
/// groups), and then how many bins there are.
__global__ void first_bin_kernel(GroupSizes sizes, std::int64_t parts, unsigned* first_bin) {
  const std::int64_t count = parts * sizes.groups;
  unsigned running = 0;
  for (std::int64_t base = 0; base < count; base += kBlock) {
    const std::int64_t at = base + threadIdx.x;
    const unsigned bins =
        at < count ? static_cast<unsigned>((sizes.size[at] + GroupRoom::kBinRows - 1) / GroupRoom::kBinRows) : 0U;
    const BlockPrefix prefix = block_prefix(bins);
    if (at < count) first_bin[at] = running + prefix.before;
    running += prefix.total;
  }
  if (threadIdx.x == 0) first_bin[count] = running;
}

/// Puts rows into their bins: a block counts a chunk, reserves places once for each group, then fills them. filled:
/// as `size` of the sizes, zero at first. The first row of a bin notes whose it is.
__global__ void place_kernel(RowGroups of, std::int64_t rows, GroupSizes filled, const unsigned* first_bin,
                             std::int32_t* order, std::int32_t* bin_group, Word* open_rows) {
  extern __shared__ unsigned counts[];
  Word open = 0;
  for_chunks(rows, filled.groups, counts, [&](std::int64_t first, std::int64_t last) {
    unsigned* all = filled.of_part(first);
    unsigned* next = all;
    if (filled.groups <= kCountedGroups) {
      count_chunk(of, first, last, counts);
      __syncthreads();
      for (std::int64_t g = threadIdx.x; g < filled.groups; g += blockDim.x) {
        if (counts[g] != 0) counts[g] = atomicAdd(&all[g], counts[g]);
      }
      __syncthreads();
      next = counts;
    }
    const unsigned* bins = first_bin + (all - filled.size);
    for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
      const std::int32_t groups[2] = {of.first[row], of.second[row]};
      const bool in_two = groups[1] != RowGroups::kNone;
      open += in_two ? 1 : 0;
      for (const std::int32_t g : groups) {
        if (g == RowGroups::kNone) continue;
        const std::int64_t at = bins[g] * GroupRoom::kBinRows + atomicAdd(&next[g], 1U);
        order[at] = static_cast<std::int32_t>(row) | (in_two ? kOpenFlag : 0);
        if (at % GroupRoom::kBinRows == 0) bin_group[at / GroupRoom::kBinRows] = g;
      }
    }
  });
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
  const unsigned* bins;           // (1) how many there are
  HalfShape point_shape, column_shape;
  const HalfBound* bound;
  GapOutput gaps;
  std::int32_t* nearest;
  Word* smallest;  // (rows) of RecheckRoom
  Word* open_rows;
  CandidateOutput candidates;
};

/// Where a unit of a row (or column) stands in a block's shared memory: the same unit of eight neighbours touches every
/// bank once.
__device__ inline int held_place(int row, int unit) { return row * kRowUnits + (unit ^ (row % 2 * 4 + row / 2 % 4)); }

constexpr int kHeldPieces = 2;  // of rows and columns in shared memory at a time
constexpr int kHeldRows = GroupRoom::kBinRows + kGroupColumns;

std::size_t bin_bytes(const HalfShape& shape) {
  return static_cast<std::size_t>(std::min(shape.pieces, kHeldPieces)) * kHeldRows * kRowUnits * sizeof(uint4);
}

/// A block takes one bin after the other, a warp 16 of its rows. A thread takes whole units of 8 halves for the halves
/// of two products: it takes those of the columns alike, so that the same are multiplied. Which rows the next bin has
/// is asked for while those of this one are on their way; these copies themselves nothing hides but the other blocks of
/// the multiprocessor.
template <BinWork kWork>
__global__ void __launch_bounds__(kBinWarps* kWarp, kBinBlocks)
    bin_kernel(const __grid_constant__ BinArguments arguments) {
#ifdef KITH_AMPERE
  constexpr int kTogether = kBinWarps * kWarp / kRowUnits;  // rows that are copied at once
  constexpr int kTurns = GroupRoom::kBinRows / kTogether;
  static_assert(kTogether == kGroupColumns && kBinWarps == kBlockWarps);
  static_assert(kTogether % 8 == 0, "rows that a thread copies stand alike in shared memory");
  extern __shared__ uint4 held[];  // (pieces, rows then columns, units)
  __shared__ float score_base[kGroupColumns];
  __shared__ Word first_place;
  const int thread = static_cast<int>(threadIdx.x), unit = thread % kRowUnits, place = thread / kRowUnits;
  const int lane = lane_index(), warp = thread / kWarp, i = lane / 4, q = lane % 4;
  const HalfShape shape = arguments.point_shape;
  // Units beyond the columns meet zeros among the centroids; what is copied only has to be a number.
  const int from_unit = unit < shape.units ? unit : 0;
  const std::uint32_t held_at = shared_address(held), to = held_at + held_place(place, unit) * 16;
  // What this lane loads of fragments; the units of another step are a bit of the address away.
  const std::uint32_t own_rows = held_place(warp * kWarpRows + lane % 16, lane / 16) * 16;
  // With units of columns before columns, so that the two halves of a fragment come side by side.
  const std::uint32_t columns = held_place(GroupRoom::kBinRows + lane / 16 * 8 + lane % 8, lane / 8 % 2) * 16;
  constexpr std::uint32_t kTurnBytes = kTogether * kRowUnits * 16, kSlotBytes = kHeldRows * kRowUnits * 16;
  // Places without a row take the block's first, and nobody looks at their products.
  const auto row_of = [](std::int32_t entry) { return max(entry, 0) & ~kOpenFlag; };
  const unsigned bins = *arguments.bins;

  std::int32_t next[kTurns], group = 0;  // of the bin to come
  const auto ask = [&](unsigned bin) {
    if (bin >= bins) return;
    const std::int32_t* rows = arguments.order + std::size_t{bin} * GroupRoom::kBinRows + place;
#pragma unroll
    for (int t = 0; t < kTurns; ++t) next[t] = __ldg(rows + t * kTogether);
    group = __ldg(arguments.bin_group + bin);
  };
  ask(blockIdx.x);
  for (unsigned bin = blockIdx.x; bin < bins; bin += gridDim.x) {
    const std::int64_t first_column = std::int64_t{group} * kGroupColumns;
    const uint4* from[kTurns];
#pragma unroll
    for (int t = 0; t < kTurns; ++t) from[t] = arguments.points + shape.place(row_of(next[t]), 0, from_unit);
    const uint4* column =
        arguments.columns + arguments.column_shape.place(slot_of_column(first_column + place), 0, unit);
    std::int32_t entry[2];
    float limit[2], product[4][4] = {};
    for (int first = 0; first < shape.pieces; first += kHeldPieces) {
      const int count = min(kHeldPieces, shape.pieces - first);
      if (first > 0 || kWork == BinWork::best) __syncthreads();  // else a barrier at the end of the bin before did
#pragma unroll 1
      for (int s = 0; s < count; ++s) {
#pragma unroll
        for (int t = 0; t < kTurns; ++t) {
          copy_unit(to + s * kSlotBytes + t * kTurnBytes, from[t]);
          from[t] += kPieceRows * shape.units;
        }
        copy_unit(to + s * kSlotBytes + kTurns * kTurnBytes, column);
        column += kPieceRows * kRowUnits;
      }
      copies_commit();
      if (first == 0) {  // while the copies are on their way
        const std::int32_t* rows = arguments.order + std::size_t{bin} * GroupRoom::kBinRows + (warp * kWarpRows + i);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          entry[r] = __ldg(rows + 8 * r);
          limit[r] = __ldg(arguments.limit + row_of(entry[r]));
        }
        if (thread < kGroupColumns) {
          score_base[thread] = __ldg(&arguments.score_base[base_place(first_column + thread)]);
        }
        ask(bin + gridDim.x);
      }
      copies_wait<0>();
      __syncthreads();
#pragma unroll 1
      for (int piece = 0; piece < count; ++piece) {
#pragma unroll
        for (int step = 0; step < kRowUnits / kStepUnits; ++step) {
          const std::uint32_t units = held_at + piece * kSlotBytes;
          unsigned a[4], b[2][4];
          load_rows_16x16(a, units + (own_rows ^ step * kStepUnits * 16));
#pragma unroll
          for (int p = 0; p < 2; ++p) {
            load_rows_16x16(b[p], units + p * kWarpRows * kRowUnits * 16 + (columns ^ step * kStepUnits * 16));
          }
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            multiply_16x8x16(product[n], {a[0], a[2]}, {a[1], a[3]}, {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]});
          }
        }
      }
    }

    unsigned candidates[2] = {};
    unsigned listed = 0;  // candidates of this thread, and open rows that are not counted yet in the upper half
    constexpr unsigned kOneRow = 1U << 16;
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
          const float score = __fsub_rn(score_base[c], product[n][r * 2 + e]);
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
        if (q == 0 && entry[r] >= 0)
          arguments.nearest[entry[r]] = static_cast<std::int32_t>(first_column) + best_column;
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
      if (open) arguments.smallest[row] = ~Word{0};
      candidates[r] = open ? within : 0U;
      listed += static_cast<unsigned>(__popc(candidates[r])) + (open && !flagged ? kOneRow : 0U);
    }
    // One addition per block: those of all warps to the same two numbers would take as long as all the rest.
    const BlockPrefix prefix = block_prefix(listed);
    if (thread == 0) {
      first_place =
          prefix.total != 0 ? atomicAdd(arguments.candidates.count, static_cast<Word>(prefix.total % kOneRow)) : 0;
      if (prefix.total >= kOneRow) atomicAdd(arguments.open_rows, static_cast<Word>(prefix.total / kOneRow));
    }
    __syncthreads();
    Word at = first_place + prefix.before % kOneRow;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      arguments.candidates.put(at, candidates[r], entry[r] & ~kOpenFlag, static_cast<std::int32_t>(first_column));
      at += static_cast<Word>(__popc(candidates[r]));
    }
  }
#endif
}

__global__ void leave_kernel(const std::int32_t* nearest, const float* limit, std::int64_t rows, Undecided undecided) {
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    undecided.leave(row < rows && nearest[row] == kOpen, row, row < rows ? limit[row] : 0.0F);
  }
}

/// A quarter of them are not full, on average, when the rows are spread evenly and are in one group.
std::int64_t rows_of_part(std::int64_t groups) {
  const auto wanted = static_cast<std::uint64_t>(2 * GroupRoom::kBinRows * groups);
  return std::max(GroupRoom::kPartRows, static_cast<std::int64_t>(std::bit_ceil(wanted)));
}

std::int64_t parts_of(std::int64_t rows, std::int64_t part_rows) { return (rows + part_rows - 1) / part_rows; }

std::int64_t most_bins(std::int64_t rows, const GroupRoom& room) {
  return 2 * rows / GroupRoom::kBinRows + room.groups * parts_of(rows, room.part_rows);
}

}  // namespace

GroupRoom::GroupRoom(Pool& pool, std::int64_t rows, std::int64_t columns)
    : groups((columns + kGroupColumns - 1) / kGroupColumns),
      part_rows(rows_of_part(groups)),
      parts(parts_of(rows, part_rows)),
      first(pool, rows),
      second(pool, rows),
      limit(pool, rows),
      order(pool, most_bins(rows, *this) * kBinRows),
      sizes(pool, 2 * parts * groups),
      first_bin(pool, parts * groups + 1),
      bin_group(pool, most_bins(rows, *this)) {}

template <class T>
void nearest_in_groups(const HeldRows<T>& held, const HalfColumns& columns, const LookedRows& rows,
                       const GroupRoom& groups, const RecheckRoom& room, HalfLeft* left) {
  const Stream& stream = held.stream();
  const std::int64_t bins = most_bins(rows.count, groups), parts = parts_of(rows.count, groups.part_rows);
  const GroupSizes sizes{groups.sizes.data(), groups.groups, groups.part_rows};
  const GroupSizes filled{groups.sizes.data() + parts * groups.groups, groups.groups, groups.part_rows};
  stream.fill(groups.sizes.data(), 0, 2 * parts * groups.groups);
  stream.fill(groups.order.data(), 0xFF, bins * GroupRoom::kBinRows);
  const std::size_t shared =
      groups.groups <= kCountedGroups ? static_cast<std::size_t>(groups.groups) * sizeof(unsigned) : 0;
  const unsigned blocks = held.context->grid(rows.count, kChunk);
  count_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, sizes);
  check(cudaGetLastError());
  first_bin_kernel<<<1, kBlock, 0, stream>>>(sizes, parts, groups.first_bin.data());
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, filled, groups.first_bin.data(),
                                                   groups.order.data(), groups.bin_group.data(), &left->open);
  check(cudaGetLastError());
  const HalfShape& shape = held.half.shape;
  const BinArguments arguments{rows.pieces,
                               columns.centroids.values.data(),
                               columns.score_base.data(),
                               groups.limit.data(),
                               groups.order.data(),
                               groups.bin_group.data(),
                               groups.first_bin.data() + parts * groups.groups,
                               shape,
                               column_shape(held.columns()),
                               columns.bound.data(),
                               rows.gaps,
                               rows.nearest,
                               room.smallest(),
                               &left->open,
                               {room.candidates(), room.capacity(), &left->candidates}};
  auto kernel = rows.gaps ? bin_kernel<BinWork::labels_and_gaps> : bin_kernel<BinWork::labels>;
  if (held.context->left_out.one_look()) kernel = bin_kernel<BinWork::best>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bin_bytes({kHeldPieces})));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  const auto bin_blocks =
      static_cast<unsigned>(std::min<std::int64_t>(bins, std::int64_t{kBinBlocks} * held.context->multiprocessors));
  kernel<<<bin_blocks, kBinWarps * kWarp, bin_bytes(shape), stream>>>(arguments);
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
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
