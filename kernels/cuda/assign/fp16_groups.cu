// Brings rows together by group, in bins that fp16_bins.cu multiplies.
//
// Sorting the rows moves 16 bytes of each. Which place a row has in its bin changes from run to run; what is found for
// it does not depend on it.
#include "kernels/cuda/assign/fp16_groups.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/assign/fp16_bins.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kChunk = 4096;          // rows that a block counts before it reserves their places
constexpr std::int64_t kCountedGroups = 8192;  // groups whose counts fit in shared memory

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
        at < count ? static_cast<unsigned>((sizes.size[at] + GroupWorkspace::kBinRows - 1) / GroupWorkspace::kBinRows)
                   : 0U;
    const BlockPrefix prefix = block_prefix(bins);
    if (at < count) first_bin[at] = running + prefix.before;
    running += prefix.total;
  }
  if (threadIdx.x == 0) first_bin[count] = running;
}

/// Puts rows into their bins: a block counts a chunk, reserves places once for each group, then fills them. filled:
/// as `size` of the sizes, zero at first. The first row of a bin notes whose it is.
__global__ void place_kernel(RowGroups of, std::int64_t rows, GroupSizes filled, const unsigned* first_bin,
                             std::int32_t* order, std::int32_t* bin_group, Word* listed_rows) {
  extern __shared__ unsigned counts[];
  Word in_two_groups = 0;
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
      in_two_groups += in_two ? 1 : 0;
      for (const std::int32_t g : groups) {
        if (g == RowGroups::kNone) continue;
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

/// A quarter of them are not full, on average, when the rows are spread evenly and are in one group.
std::int64_t rows_of_part(std::int64_t groups) {
  const auto wanted = static_cast<std::uint64_t>(2 * GroupWorkspace::kBinRows * groups);
  return std::max(GroupWorkspace::kPartRows, static_cast<std::int64_t>(std::bit_ceil(wanted)));
}

std::int64_t parts_of(std::int64_t rows, std::int64_t part_rows) { return (rows + part_rows - 1) / part_rows; }

std::int64_t most_bins(std::int64_t rows, const GroupWorkspace& room) {
  return 2 * rows / GroupWorkspace::kBinRows + room.groups * parts_of(rows, room.part_rows);
}

}  // namespace

GroupWorkspace::GroupWorkspace(Pool& pool, std::int64_t rows, std::int64_t columns)
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
void nearest_in_groups(const HeldRows<T>& held, const Fp16Columns& columns, const ScreeningInput& rows,
                       const GroupWorkspace& groups, const RefinementWorkspace& room, ScreeningCounts* counts) {
  const Stream& stream = held.stream();
  const std::int64_t bins = most_bins(rows.count, groups), parts = parts_of(rows.count, groups.part_rows);
  const GroupSizes sizes{groups.sizes.data(), groups.groups, groups.part_rows};
  const GroupSizes filled{groups.sizes.data() + parts * groups.groups, groups.groups, groups.part_rows};
  stream.fill(groups.sizes.data(), 0, 2 * parts * groups.groups);
  stream.fill(groups.order.data(), 0xFF, bins * GroupWorkspace::kBinRows);
  const std::size_t shared =
      groups.groups <= kCountedGroups ? static_cast<std::size_t>(groups.groups) * sizeof(unsigned) : 0;
  const unsigned blocks = held.context->grid(rows.count, kChunk);
  count_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, sizes);
  check(cudaGetLastError());
  first_bin_kernel<<<1, kBlock, 0, stream>>>(sizes, parts, groups.first_bin.data());
  check(cudaGetLastError());
  place_kernel<<<blocks, kBlock, shared, stream>>>(groups.rows(), rows.count, filled, groups.first_bin.data(),
                                                   groups.order.data(), groups.bin_group.data(), &counts->listed);
  check(cudaGetLastError());
  multiply_bins(held, columns, rows, groups, room, {groups.first_bin.data() + parts * groups.groups, bins}, counts);
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
