// What has to be known about all points before the first sum: column ranges, grids of the integer sums, and the
// centring and scaling of the low-precision screen. The same for every block of the same data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/weights.h"

namespace kith {

class Points;

/// Smallest and largest value of each column. Starts empty (+inf, -inf); blocks are merged in place.
struct ColumnRange {
  explicit ColumnRange(std::int64_t columns);
  std::vector<double> minimum, maximum;  // (d)
};

/// The grid of each column's integer sums: q = rint(x 2^shift[j]), 2^shift[j] = first[j] * second[j].
struct ColumnScales {
  int limbs = 1;                      // 1, or 2 for data with heavy-tailed columns
  int low_bits = 0;                   // the second limb's grid is 2^-low_bits of the first's
  bool integral_weights = true;       // how weights enter (core/weights.h)
  std::vector<int> shift;             // (d)
  std::vector<double> first, second;  // (d)
  double low_scale() const { return power_of_two(low_bits); }
  /// Scaled values below this are less than 2^-12 of the column's largest.
  double small_limit() const { return power_of_two(low_bits - 13); }
  /// Scaled values below this keep fewer than 20 bits in two limbs.
  double lost_limit() const { return power_of_two(20 - low_bits); }
};

/// Integer sums over all rows of q and |q| (one limb), whether every value was exactly on its grid, and how many values
/// other than 0 are small beside the largest of their column; copies by whole weights count.
struct ColumnMagnitudes {
  explicit ColumnMagnitudes(std::int64_t columns);
  std::vector<std::int64_t> sum, absolute_sum;  // (d)
  std::vector<std::int64_t> small, lost;        // (d) values below small_limit() and lost_limit()
  std::vector<std::uint8_t> on_grid;            // (d) 1: rint changed no value of the column
};

/// How a screen sees values: x' = x 2^-exponent - center, rounded to the screen's precision.
/// Any center and exponent is correct (the certificate measures what was lost); good ones certify more rows.
struct ScreenTransform {
  int exponent = 0;
  std::vector<float> center;  // (d) already scaled by 2^-exponent
};

struct DataPlan {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Weights weights;
  ColumnRange range{0};
  ColumnScales scales;
  ScreenTransform screen;
  std::vector<double> mean;           // (d) from the integer sums
  std::vector<std::string> warnings;  // columns whose sums cannot keep all that matters
};

/// Two passes over the points. weights: those that the points hold. Throws Error(data) when squared distances, or their
/// weighted sum, would leave the range of float64.
DataPlan make_plan(const Points& points, const Weights& weights);
DataPlan make_plan(const Points& points);  // of rows that are not weighted

/// The scale of inertia sums of rows whose labels are the nearest of centroids (k, d): of the box of the points, or of
/// the least distance that no point of it exceeds to one of them. A centroid far from all points coarsens nothing.
/// Throws Error(data) when squared distances, or their weighted sum, would leave the range of float64.
FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids);

/// The same of any labels, of which counts (k) have rows: no distance to one of these centroids is larger.
FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids,
                         std::span<const std::int64_t> counts);

}  // namespace kith
