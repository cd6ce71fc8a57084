// All rows in host memory, for algorithms that compute with subsets of the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "core/points/backend.h"
#include "core/points/matrix.h"

namespace kith {

/// A subset of the rows as separate points, numbered from 0.
struct RowSubset {
  PointsMatrix values;
  std::unique_ptr<Points> points;  // hold `values`
};

/// Borrows the values and the backend; both must outlive the store and its subsets.
class RowStore {
 public:
  RowStore(PointsView values, Backend& backend) : values_(values), backend_(backend) {}

  /// Copies the rows with these numbers, in this order, and holds them; the caller calls prepare(). Throws
  /// Error(device) if the backend cannot hold them.
  RowSubset hold(std::span<const std::int64_t> rows) const {
    RowSubset subset;
    std::visit(
        [&]<class T>(MatrixView<const T> all) {
          Matrix<T> copy(std::ssize(rows), all.columns);
          for (std::int64_t i = 0; i < copy.rows(); ++i) {
            std::copy_n(all.row(rows[static_cast<std::size_t>(i)]).data(), all.columns, copy.row(i).data());
          }
          subset.values = std::move(copy);
        },
        values_);
    subset.points = backend_.hold({view_of(subset.values), 0});
    return subset;
  }

 private:
  PointsView values_;  // (n, d)
  Backend& backend_;
};

}  // namespace kith
