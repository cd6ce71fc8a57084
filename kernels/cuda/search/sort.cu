// The segmented sort of (double, int32) pairs and the radix sort of (uint64, int32) pairs by CUB. Both are stable.
#include "kernels/cuda/search/sort.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

namespace kith::cuda {

void sort_candidates(const Stream& stream, const CandidateSort& sort, std::byte* temporary, std::size_t& bytes) {
  check(cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, sort.distance, sort.sorted_distance, sort.row,
                                                  sort.sorted_row, sort.count, sort.queries, sort.offset,
                                                  sort.offset + 1, stream));
}

void sort_by_key(const Stream& stream, RowOrder& order, int bits, std::byte* temporary, std::size_t& bytes) {
  cub::DoubleBuffer<std::uint64_t> keys(order.key[order.current], order.key[1 - order.current]);
  cub::DoubleBuffer<std::int32_t> rows(order.row[order.current], order.row[1 - order.current]);
  check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, rows, order.count, 0, bits, stream));
  if (temporary == nullptr) return;
  order.current = keys.Current() == order.key[0] ? 0 : 1;
  // Both have the same number of passes.
  if (rows.Current() != order.row[order.current]) throw Error(ExitCode::internal, "keys and rows in different buffers");
}

}  // namespace kith::cuda
