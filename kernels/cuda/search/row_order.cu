// CUB's radix sort of (uint64, int32) pairs, which is stable.
#include "kernels/cuda/search/row_order.h"

#include <cub/device/device_radix_sort.cuh>

namespace kith::cuda {

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
