// The matrix of all distances by the definition, q n d operations: ranges of rows stay in the cache for all queries.
#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
void all_distances(const HeldRows<T>& held, const Queries& queries, MatrixView<double> out) {
  constexpr std::int64_t kRangeBytes = 256 << 10;
  const std::int64_t row_bytes = held.columns() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows_per_range =
      held.block_rows > 0 ? held.block_rows : std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
  const auto distance = held.set.template rows<T>().distance_by(queries.measure);
  held.for_ranges(rows_per_range, [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    for (std::int64_t q = 0; q < queries.values.rows; ++q) {
      for (std::int64_t i = first; i < last; ++i)
        out(q, i) = distance(held.row(i), queries.values.row(q).data(), held.columns());
    }
  });
}

#define KITH_INSTANTIATE(T) template void all_distances(const HeldRows<T>&, const Queries&, MatrixView<double>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
