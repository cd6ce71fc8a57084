// Sorts rows by group into bins, multiplies those with the columns of the group, and decides the rows.
//
// The sort moves 16 bytes per row. The place of a row in its bin varies from run to run; its result does not depend on
// the place.
#include "kernels/cuda/assign/fp16_screen.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

// The products of bins: rows of one group with its 32 columns. The fp16 copies of 10^6 x 128 rows move once: 0.26 GB,
// 0.06 ms on an H200; measured 0.13 ms.

constexpr std::int32_t kTwoGroupsFlag = 1 << 30;  // marks a row that is in two groups; blocks have fewer rows

/// The number of bins in GroupWorkspace::order.
struct BinList {
  const unsigned* count;  // (1) on the device
  std::int64_t most;
};

constexpr int kBinWarps = 8;
constexpr int kBinBlocks = 4;                                    // of a multiprocessor
constexpr int kWarpRows = GroupWorkspace::kBinRows / kBinWarps;  // one fragment

struct BinArguments {
  const uint4* points;   // tiles of the block's rows
  const uint4* columns;  // tiles of the centroids
  const float* score_base;
  const float* limit;             // (rows)
  const std::int32_t* order;      // (bins, kBinRows)
  const std::int32_t* bin_group;  // (bins)
  const unsigned* bins;           // (1) the number of bins
  Fp16Layout point_shape, column_shape;
  std::int32_t* nearest;
  Word* smallest;  // (rows) of RefinementWorkspace
  Word* listed_rows;
  CandidateOutput candidates;
};

/// The place of a chunk of a row (or column) in shared memory. The same chunk of eight neighbouring rows is in
/// different banks.
__device__ int held_place(int row, int chunk) { return row * kRowChunks + (chunk ^ (row % 2 * 4 + row / 2 % 4)); }

constexpr int kHeldTiles = 2;  // of rows and columns in shared memory at a time
constexpr int kHeldRows = GroupWorkspace::kBinRows + kGroupColumns;

/// Shared memory of bin_kernel.
std::size_t bin_bytes(const Fp16Layout& shape) {
  return static_cast<std::size_t>(std::min(shape.depth_tiles, kHeldTiles)) * kHeldRows * kRowChunks * sizeof(uint4);
}

/// A block takes one bin after the other, and a warp 16 of its rows. A thread loads a whole chunk of 8 fp16 for both
/// products of a step, from rows and columns alike, so that matching columns are multiplied. The indices of the next
/// bin's rows are loaded during the copies of the current one; only other blocks of the multiprocessor hide these
/// copies.
__global__ void __launch_bounds__(kBinWarps* kWarp, kBinBlocks)
    bin_kernel(const __grid_constant__ BinArguments arguments) {
#ifdef KITH_AMPERE
  constexpr int kTogether = kBinWarps * kWarp / kRowChunks;  // rows that are copied at once
  constexpr int kTurns = GroupWorkspace::kBinRows / kTogether;
  static_assert(kTogether == kGroupColumns && kBinWarps == kBlockWarps);
  static_assert(kTogether % 8 == 0, "all rows that a thread copies have the same swizzle");
  extern __shared__ uint4 held[];  // (tiles, rows then columns, chunks)
  __shared__ float score_base[kGroupColumns];
  __shared__ Word first_place;
  const int thread = static_cast<int>(threadIdx.x), chunk = thread % kRowChunks, place = thread / kRowChunks;
  const int lane = lane_index(), warp = thread / kWarp, i = lane / 4, q = lane % 4;
  const Fp16Layout shape = arguments.point_shape;
  // Chunks beyond the columns are multiplied with zeros of the centroids, so any finite values will do.
  const int from_chunk = chunk < shape.chunks ? chunk : 0;
  const std::uint32_t held_at = shared_address(held), to = held_at + held_place(place, chunk) * 16;
  // The addresses from which this lane loads fragments; those of another step differ in a bit.
  const std::uint32_t own_rows = held_place(warp * kWarpRows + lane % 16, lane / 16) * 16;
  // Chunks come before columns, so that both parts of a fragment are loaded together.
  const std::uint32_t columns = held_place(GroupWorkspace::kBinRows + lane / 16 * 8 + lane % 8, lane / 8 % 2) * 16;
  constexpr std::uint32_t kTurnBytes = kTogether * kRowChunks * 16, kSlotBytes = kHeldRows * kRowChunks * 16;
  // Places without a row copy row 0 of the block, and their products are ignored.
  const auto row_of = [](std::int32_t entry) { return max(entry, 0) & ~kTwoGroupsFlag; };
  const unsigned bins = *arguments.bins;

  std::int32_t next[kTurns], group = 0;  // of the next bin
  const auto prefetch = [&](unsigned bin) {
    if (bin >= bins) return;
    const std::int32_t* rows = arguments.order + std::size_t{bin} * GroupWorkspace::kBinRows + place;
#pragma unroll
    for (int t = 0; t < kTurns; ++t) next[t] = __ldg(rows + t * kTogether);
    group = __ldg(arguments.bin_group + bin);
  };
  prefetch(blockIdx.x);
  for (unsigned bin = blockIdx.x; bin < bins; bin += gridDim.x) {
    const std::int64_t first_column = std::int64_t{group} * kGroupColumns;
    const uint4* from[kTurns];
#pragma unroll
    for (int t = 0; t < kTurns; ++t) from[t] = arguments.points + shape.place(row_of(next[t]), 0, from_chunk);
    const uint4* column =
        arguments.columns + arguments.column_shape.place(slot_of_column(first_column + place), 0, chunk);
    std::int32_t entry[2];
    float limit[2], product[4][4] = {};
    for (int first = 0; first < shape.depth_tiles; first += kHeldTiles) {
      const int count = min(kHeldTiles, shape.depth_tiles - first);
      if (first > 0) __syncthreads();  // before the first tiles, the barrier at the end of the previous bin suffices
#pragma unroll 1
      for (int s = 0; s < count; ++s) {
#pragma unroll
        for (int t = 0; t < kTurns; ++t) {
          copy_chunk(to + s * kSlotBytes + t * kTurnBytes, from[t]);
          from[t] += kFp16TileRows * shape.chunks;
        }
        copy_chunk(to + s * kSlotBytes + kTurns * kTurnBytes, column);
        column += kFp16TileRows * kRowChunks;
      }
      copies_commit();
      if (first == 0) {  // during the copies
        const std::int32_t* rows =
            arguments.order + std::size_t{bin} * GroupWorkspace::kBinRows + (warp * kWarpRows + i);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          entry[r] = __ldg(rows + 8 * r);
          limit[r] = __ldg(arguments.limit + row_of(entry[r]));
        }
        if (thread < kGroupColumns) {
          score_base[thread] = __ldg(&arguments.score_base[base_place(first_column + thread)]);
        }
        prefetch(bin + gridDim.x);
      }
      copies_wait<0>();
      __syncthreads();
#pragma unroll 1
      for (int depth_tile = 0; depth_tile < count; ++depth_tile) {
#pragma unroll
        for (int step = 0; step < kRowChunks / kStepChunks; ++step) {
          const std::uint32_t chunks = held_at + depth_tile * kSlotBytes;
          unsigned a[4], b[2][4];
          load_rows_16x16(a, chunks + (own_rows ^ step * kStepChunks * 16));
#pragma unroll
          for (int p = 0; p < 2; ++p) {
            load_rows_16x16(b[p], chunks + p * kWarpRows * kRowChunks * 16 + (columns ^ step * kStepChunks * 16));
          }
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            multiply_16x8x16(product[n], {a[0], a[2]}, {a[1], a[3]}, {b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]});
          }
        }
      }
    }

    unsigned candidates[2] = {};
    unsigned additions = 0;  // candidates of this thread; in the upper 16 bits, listed rows that are not counted yet
    constexpr unsigned kOneRow = 1U << 16;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      unsigned within = 0;
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int c = 8 * n + 2 * q + e;
          const float score = __fsub_rn(score_base[c], product[n][r * 2 + e]);
          if (!(score > limit[r])) within |= 1U << c;  // a NaN is within
        }
      }
      within |= __shfl_xor_sync(kAllLanes, within, 1);
      within |= __shfl_xor_sync(kAllLanes, within, 2);
      const bool mine = q == 0 && entry[r] >= 0, flagged = (entry[r] & kTwoGroupsFlag) != 0;
      const bool listed = mine && (flagged || __popc(within) != 1);
      const std::int32_t row = entry[r] & ~kTwoGroupsFlag;
      if (mine) {
        arguments.nearest[row] =
            listed ? kListed : static_cast<std::int32_t>(first_column) + __ffs(static_cast<int>(within)) - 1;
      }
      if (listed) arguments.smallest[row] = ~Word{0};
      candidates[r] = listed ? within : 0U;
      additions += static_cast<unsigned>(__popc(candidates[r])) + (listed && !flagged ? kOneRow : 0U);
    }
    // One addition per block: additions of all warps to the same two counters would double the time.
    const BlockPrefix prefix = block_prefix(additions);
    if (thread == 0) {
      first_place =
          prefix.total != 0 ? atomicAdd(arguments.candidates.count, static_cast<Word>(prefix.total % kOneRow)) : 0;
      if (prefix.total >= kOneRow) atomicAdd(arguments.listed_rows, static_cast<Word>(prefix.total / kOneRow));
    }
    __syncthreads();
    Word at = first_place + prefix.before % kOneRow;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      arguments.candidates.put(at, candidates[r], entry[r] & ~kTwoGroupsFlag, static_cast<std::int32_t>(first_column));
      at += static_cast<Word>(__popc(candidates[r]));
    }
  }
#endif
}

/// Decides the rows of all bins, as nearest_in_groups() specifies. An entry of groups.order is a row of the block, with
/// kTwoGroupsFlag if it is in two groups; listed rows get kListed. Does not wait.
template <class T>
void multiply_bins(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                   const GroupWorkspace& groups, const RefinementWorkspace& workspace, const BinList& bins,
                   ScreeningCounts* counts) {
  const Fp16Layout& shape = held.fp16.shape;
  const BinArguments arguments{rows.tiles,
                               columns.centroids.values.data(),
                               columns.score_base.data(),
                               groups.limit.data(),
                               groups.order.data(),
                               groups.bin_group.data(),
                               bins.count,
                               shape,
                               column_shape(held.columns()),
                               rows.nearest,
                               workspace.smallest(),
                               &counts->listed,
                               {workspace.candidates(), workspace.capacity(), &counts->listed_candidates}};
  check(cudaFuncSetAttribute(bin_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bin_bytes({kHeldTiles})));
  check(
      cudaFuncSetAttribute(bin_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(bins.most, std::int64_t{kBinBlocks} * held.context->multiprocessors));
  bin_kernel<<<blocks, kBinWarps * kWarp, bin_bytes(shape), held.stream()>>>(arguments);
  check(cudaGetLastError());
}

constexpr std::int64_t kSegmentRows = 4096;    // rows that a block counts before it reserves their places
constexpr std::int64_t kCountedGroups = 8192;  // groups whose counts fit in shared memory

/// The rows of each partition and group.
struct GroupSizes {
  unsigned* size;  // (partitions, groups)
  std::int64_t groups, partition_rows;

  __device__ unsigned* of_partition(std::int64_t row) const { return size + row / partition_rows * groups; }
};

/// Calls work(first, last) for the segments of the rows; a partition is a whole number of segments. If the counters of
/// all groups fit in shared memory, they are zero on each call; otherwise global memory counts.
template <class Work>
__device__ void for_segments(std::int64_t rows, std::int64_t groups, unsigned* counts, const Work& work) {
  for (std::int64_t first = blockIdx.x * kSegmentRows; first < rows; first += gridDim.x * kSegmentRows) {
    for (std::int64_t g = threadIdx.x; groups <= kCountedGroups && g < groups; g += blockDim.x) counts[g] = 0;
    __syncthreads();
    work(first, min(first + kSegmentRows, rows));
    __syncthreads();
  }
}

__device__ void count_segment(const RowGroups& of, std::int64_t first, std::int64_t last, unsigned* counts) {
  for (std::int64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
    for (const std::int32_t g : {of.first[row], of.second[row]}) {
      if (g >= 0) atomicAdd(&counts[g], 1U);
    }
  }
}

__global__ void count_kernel(RowGroups of, std::int64_t rows, GroupSizes sizes) {
  extern __shared__ unsigned counts[];
  for_segments(rows, sizes.groups, counts, [&](std::int64_t first, std::int64_t last) {
    unsigned* all = sizes.of_partition(first);
    if (sizes.groups > kCountedGroups) return count_segment(of, first, last, all);
    count_segment(of, first, last, counts);
    __syncthreads();
    for (std::int64_t g = threadIdx.x; g < sizes.groups; g += blockDim.x) {
      if (counts[g] != 0) atomicAdd(&all[g], counts[g]);
    }
  });
}

/// One block: the bins are ordered by partition, then by group. first_bin: (partitions, groups), then the number of
/// bins.
__global__ void first_bin_kernel(GroupSizes sizes, std::int64_t partitions, unsigned* first_bin) {
  const std::int64_t count = partitions * sizes.groups;
  unsigned running = 0;
  for (std::int64_t base = 0; base < count; base += kBlock) {
    const std::int64_t at = base + threadIdx.x;
    const unsigned bins =
        at < count ? static_cast<unsigned>((sizes.size[at] + GroupWorkspace::kBinRows - 1) / GroupWorkspace::kBinRows)
                   : 0U;
    const BlockPrefix prefix = block_prefix(bins);
    if (at < count) first_bin[at] = running + prefix.before;
    running += prefix.total;
  }
  if (threadIdx.x == 0) first_bin[count] = running;
}

/// Places rows in their bins: a block counts a segment, reserves places once per group, then fills them. filled: rows
/// already placed, zero at first. The first row of a bin stores the group of the bin.
__global__ void place_kernel(RowGroups of, std::int64_t rows, GroupSizes filled, const unsigned* first_bin,
                             std::int32_t* order, std::int32_t* bin_group, Word* listed_rows) {
  extern __shared__ unsigned counts[];
  Word in_two_groups = 0;
  for_segments(rows, filled.groups, counts, [&](std::int64_t first, std::int64_t last) {
    unsigned* all = filled.of_partition(first);
    unsigned* next = all;
    if (filled.groups <= kCountedGroups) {
      count_segment(of, first, last, counts);
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
      const bool in_two = groups[1] >= 0;
      in_two_groups += in_two ? 1 : 0;
      for (const std::int32_t g : groups) {
        if (g < 0) continue;
        const std::int64_t at = bins[g] * GroupWorkspace::kBinRows + atomicAdd(&next[g], 1U);
        order[at] = static_cast<std::int32_t>(row) | (in_two ? kTwoGroupsFlag : 0);
        if (at % GroupWorkspace::kBinRows == 0) bin_group[at / GroupWorkspace::kBinRows] = g;
      }
    }
  });
  in_two_groups = block_sum(in_two_groups);
  if (threadIdx.x == 0 && in_two_groups != 0) atomicAdd(listed_rows, in_two_groups);
}

__global__ void append_listed_kernel(const std::int32_t* nearest, const float* limit, std::int64_t rows,
                                     AmbiguousRows ambiguous) {
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    ambiguous.append(row < rows && nearest[row] == kListed, row, row < rows ? limit[row] : 0.0F);
  }
}

/// Partitions are large enough that, on average, a quarter of the bins are not full when rows are spread evenly.
std::int64_t rows_of_partition(std::int64_t groups) {
  const auto rows = static_cast<std::uint64_t>(2 * GroupWorkspace::kBinRows * groups);
  return std::max(GroupWorkspace::kPartitionRows, static_cast<std::int64_t>(std::bit_ceil(rows)));
}

std::int64_t partitions_of(std::int64_t rows, std::int64_t partition_rows) {
  return (rows + partition_rows - 1) / partition_rows;
}

std::int64_t most_bins(std::int64_t rows, const GroupWorkspace& workspace) {
  return 2 * rows / GroupWorkspace::kBinRows + workspace.groups * partitions_of(rows, workspace.partition_rows);
}

}  // namespace

GroupWorkspace::GroupWorkspace(Pool& pool, std::int64_t rows, std::int64_t columns)
    : groups((columns + kGroupColumns - 1) / kGroupColumns),
      partition_rows(rows_of_partition(groups)),
      partitions(partitions_of(rows, partition_rows)),
      first(pool, rows),
      second(pool, rows),
      limit(pool, rows),
      order(pool, most_bins(rows, *this) * kBinRows),
      sizes(pool, 2 * partitions * groups),
      first_bin(pool, partitions * groups + 1),
      bin_group(pool, most_bins(rows, *this)) {}

template <class T>
void nearest_in_groups(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                       const GroupWorkspace& groups, const RefinementWorkspace& workspace, ScreeningCounts* counts) {
  const Stream& stream = held.stream();
  const std::int64_t bins = most_bins(rows.count, groups),
                     partitions = partitions_of(rows.count, groups.partition_rows);
  const GroupSizes sizes{groups.sizes.data(), groups.groups, groups.partition_rows};
  const GroupSizes filled{groups.sizes.data() + partitions * groups.groups, groups.groups, groups.partition_rows};
  stream.fill(groups.sizes.data(), 0, 2 * partitions * groups.groups);
  stream.fill(groups.order.data(), 0xFF, bins * GroupWorkspace::kBinRows);
  const std::size_t shared =
      groups.groups <= kCountedGroups ? static_cast<std::size_t>(groups.groups) * sizeof(unsigned) : 0;
  const unsigned blocks = held.context->grid(rows.count, kSegmentRows);
  count_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, sizes);
  check(cudaGetLastError());
  first_bin_kernel<<<1, kBlock, 0, stream>>>(sizes, partitions, groups.first_bin.data());
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, filled, groups.first_bin.data(),
                                                   groups.order.data(), groups.bin_group.data(), &counts->listed);
  check(cudaGetLastError());
  multiply_bins(held, columns, rows, groups, workspace, {groups.first_bin.data() + partitions * groups.groups, bins},
                counts);
}

template <class T>
void append_listed_rows(const HeldRows<T>& held, const ScreeningInput& rows, const GroupWorkspace& groups,
                        const AmbiguousRows& ambiguous) {
  append_listed_kernel<<<held.context->grid(rows.count, kBlock), kBlock, 0, held.stream()>>>(
      rows.nearest, groups.limit.data(), rows.count, ambiguous);
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                             \
  template void nearest_in_groups(const HeldRows<T>&, const Fp16Columns&, const ScreeningInput&,        \
                                  const GroupWorkspace&, const RefinementWorkspace&, ScreeningCounts*); \
  template void append_listed_rows(const HeldRows<T>&, const ScreeningInput&, const GroupWorkspace&,    \
                                   const AmbiguousRows&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
