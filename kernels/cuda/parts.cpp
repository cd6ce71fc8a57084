// Divides rows into parts, and holds each as points of its own.
#include "kernels/cuda/parts.h"

#include <algorithm>
#include <optional>

#include "core/part_reader.h"
#include "kernels/cuda/points.h"

namespace kith::cuda {

template <class T>
bool searches_in_parts(const HeldRows<T>& held, const Queries& queries) {
  constexpr std::int64_t kManyQueries = 64;  // whose products take longer than sending the rows
  const bool multiplies = queries.measure == Measure::squared_euclidean || queries.measure == Measure::inner_product;
  return held.sent && held.rows() > held.block_rows && multiplies && queries.values.rows >= kManyQueries &&
         held.columns() > kMostFloat32Columns && held.context->screen != ScreenPath::float32 &&
         held.block_rows % (2 * kFp16TileRows) == 0;
}

template <class T>
void for_parts(HeldRows<T>& held, const std::function<void(const Points&)>& search) {
  // A part has its rows, their fp16 copy and their state, and leaves half of the memory to the search.
  const std::int64_t row_bytes = held.host.row_bytes() + fp16_row_bytes(held.columns()) + 64;
  const auto fitting = [&] { return held.pool().available() / 2 / row_bytes / held.block_rows * held.block_rows; };
  while (fitting() == 0 && held.free_optional_memory()) {
  }
  const std::int64_t part = std::max(held.context->forced.fp16_by_block ? held.block_rows : fitting(), held.block_rows);
  for (std::int64_t first = 0; first < held.rows();) {
    const std::int64_t count = std::min(part, held.rows() - first);
    RowReader* const all = held.host.reader;
    std::optional<PartReader> reader;
    if (all != nullptr) reader.emplace(*all, first, count);
    const MatrixView<const T> values{all == nullptr ? held.host.values.row(first).data() : nullptr, count,
                                     held.columns()};
    std::unique_ptr<Points> points;
    try {
      points = hold_points(held.context, {values, held.first_row + first, nullptr, {}, reader ? &*reader : nullptr}, 0);
      points->prepare(held.plan);
    } catch (const OutOfMemory&) {
      points.reset();
      if (!held.free_optional_memory()) throw;
      continue;
    }
    search(*points);
    first += count;
  }
}

#define KITH_INSTANTIATE(T)                                            \
  template bool searches_in_parts(const HeldRows<T>&, const Queries&); \
  template void for_parts(HeldRows<T>&, const std::function<void(const Points&)>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
