// Sorts rows by group into the bins that fp16_bins.cu multiplies.
//
// The sort moves 16 bytes per row. The place of a row in its bin varies from run to run; its result does not depend on
// the place.
#include "kernels/cuda/assign/fp16_groups.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/assign/fp16_bins.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

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
