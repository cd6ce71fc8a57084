// Copies a subset of the rows and holds it with a backend.
#include "core/points/row_store.h"

#include <algorithm>

namespace kith {

RowSubset RowStore::hold(std::span<const std::int64_t> rows) const {
  RowSubset subset;
  std::visit(
      [&]<class T>(MatrixView<const T> all) {
        Matrix<T> copy(static_cast<std::int64_t>(rows.size()), all.columns);
        for (std::int64_t i = 0; i < copy.rows(); ++i) {
          const auto row = all.row(rows[static_cast<std::size_t>(i)]);
          std::copy(row.begin(), row.end(), copy.row(i).begin());
        }
        subset.values = std::move(copy);
      },
      values_);
  subset.points = backend_.hold({view_of(subset.values), 0});
  return subset;
}

}  // namespace kith
