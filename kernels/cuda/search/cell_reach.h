// Which cells of rows a query needs.
//
// A row within r of a center c is at least |q - c| - r from a query q, and one outside of h at least h - |q - c|. A
// cell is left out if that, rounded down by far more than the definition may be rounded, exceeds the root of the k-th
// D of the list.
#pragma once

#include <cmath>
#include <limits>

namespace kith::cuda {

/// Distances of the rows of a cell to its center.
struct CellReach {
  double hole = 0.0, radius = 0.0;  // no row is nearer, none farther

  /// Whether all rows are farther from a query than `reach`, the root of the last D of its list. squared: of the
  /// distance between query and center. A NaN proves nothing. Compares squares, since a root per pair takes longer.
  __host__ __device__ bool is_beyond(double squared, double reach) const {
    constexpr double kUp = 1 + 0x1p-20, kSmallest = 0x1p-900;  // smaller squares may have lost digits
    const double outer = radius + reach * kUp, inner = hole - reach * kUp;
    if (!(squared >= kSmallest) || !(squared < 0x1p1023)) return false;
    return squared > outer * outer * kUp || (inner > 0 && inner * inner > squared * kUp);
  }
};

/// Which queries a search of a cell can hold, by D to the center of its rows.
struct QueryReach {
  double usual = std::numeric_limits<double>::infinity();  // up to it with the usual limit
  double most = std::numeric_limits<double>::infinity();   // beyond it not at all
};

}  // namespace kith::cuda
