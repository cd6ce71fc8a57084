// All rows on the host beside the backend that holds them: for algorithms that compute with some of the rows alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/backend.h"
#include "core/matrix.h"

namespace kith {

/// Some rows as points of their own, numbered from 0.
struct RowSubset {
  PointsMatrix values;
  std::unique_ptr<Points> points;  // of these values
};

/// Borrows both; they must outlive it and what it holds.
class RowStore {
 public:
  RowStore(PointsView values, Backend& backend) : values_(values), backend_(backend) {}

  /// Copies the rows of these numbers, in this order, and holds them; prepare() is left to the caller. Throws
  /// Error(device) when they cannot be held.
  RowSubset hold(std::span<const std::int64_t> rows) const;

 private:
  PointsView values_;  // (n, d)
  Backend& backend_;
};

}  // namespace kith
