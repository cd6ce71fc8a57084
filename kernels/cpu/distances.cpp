// The full matrix of squared distances by the definition: ranges of rows stay in the cache while queries pass.
#include "kernels/cpu/operations.h"

namespace kith::cpu {

template <class T>
void all_distances(const HeldRows<T>& held, MatrixView<const double> queries, MatrixView<double> out) {
  constexpr std::int64_t kRangeBytes = 256 << 10;
  const std::int64_t row_bytes = held.columns() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows_per_range =
      held.block_rows > 0 ? held.block_rows : std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
  const auto distance = held.set.template rows<T>().distance;
  held.for_ranges(rows_per_range, [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    for (std::int64_t q = 0; q < queries.rows; ++q) {
      for (std::int64_t i = first; i < last; ++i)
        out(q, i) = distance(held.row(i), queries.row(q).data(), held.columns());
    }
  });
}

#define KITH_INSTANTIATE(T) \
  template void all_distances(const HeldRows<T>&, MatrixView<const double>, MatrixView<double>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
