// The matrix of all distances by the definition, q n d operations: ranges of rows stay in the cache for all queries.
#include "kernels/cpu/points.h"

namespace kith::cpu {

template <class T>
void CpuPoints<T>::all_distances(const Queries& queries, MatrixView<double> out) const {
  if (is_of_bits(queries.measure)) return all_bit_distances(bytes(), queries, out);
  constexpr std::int64_t kRangeBytes = 256 << 10;
  const std::int64_t row_bytes = held_.columns() * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows_per_range =
      held_.block_rows > 0 ? held_.block_rows : std::max<std::int64_t>(kRangeBytes / row_bytes, 8);
  const auto distance = held_.set.template rows<T>().distance_by(queries.measure);
  held_.for_ranges(rows_per_range, [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    for (std::int64_t q = 0; q < queries.values.rows; ++q) {
      for (std::int64_t i = first; i < last; ++i)
        out(q, i) = distance(held_.row(i), queries.values.row(q).data(), held_.columns());
    }
  });
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::all_distances(const Queries&, MatrixView<double>) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
