// The plan of a data set: column ranges, grids of the integer sums, and the transform of the low-precision screens. All
// blocks of a data set share one plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/numbers/distance.h"
#include "core/points/matrix.h"
#include "core/points/weights.h"

namespace kith {

class Points;

/// The smallest and largest value of each column. Starts empty (+inf, -inf); blocks are merged in place.
struct ColumnRange {
  explicit ColumnRange(std::int64_t columns);
  std::vector<double> minimum, maximum;  // (d)
};

/// The grid of each column's integer sums: q = rint(x 2^shift[j]), 2^shift[j] = first[j] * second[j].
struct ColumnScales {
  int limbs = 1;                      // 1, or 2 for data with heavy-tailed columns
  int low_bits = 0;                   // the second limb's grid is 2^-low_bits of the first's
  bool integral_weights = true;       // how weights enter the sums (core/points/weights.h)
  std::vector<int> shift;             // (d)
  std::vector<double> first, second;  // (d)
  double low_scale() const { return power_of_two(low_bits); }
  /// Scaled values below this are smaller than 2^-12 of the largest value of the column.
  double small_limit() const { return power_of_two(low_bits - 13); }
  /// Scaled values below this keep fewer than 20 bits in two limbs.
  double lost_limit() const { return power_of_two(20 - low_bits); }
};

/// Integer sums of q and |q| over all rows (one limb), whether every value lies on its grid, and the number of nonzero
/// values that are small relative to the largest of their column. A row of integral weight w counts w times.
struct ColumnMagnitudes {
  explicit ColumnMagnitudes(std::int64_t columns);
  std::vector<std::int64_t> sum, absolute_sum;  // (d)
  std::vector<std::int64_t> small, lost;        // (d) values below small_limit() and lost_limit()
  std::vector<std::uint8_t> on_grid;            // (d) 1: rint changes no value of the column
};

/// The transform of values for a screen: x' = x 2^-exponent - center, rounded to the precision of the screen. Every
/// center and exponent is correct, since the certificate measures the rounding; good ones certify more rows.
struct ScreenTransform {
  int exponent = 0;
  std::vector<float> center;  // (d) scaled by 2^-exponent
};

struct DataPlan {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Weights weights;
  ColumnRange range{0};
  ColumnScales scales;
  ScreenTransform screen;
  std::vector<double> mean;           // (d) from the integer sums
  std::vector<std::string> warnings;  // columns that lose digits in the sums
};

/// Throws Error(data) if squared distances between all points of a set, which this range is of, could lose digits
/// because their squares are too small for float64. Equal points are not refused.
void require_digits(const ColumnRange& range, Measure measure);

/// Makes the plan in two passes over the points. weights: those that the points hold. Throws Error(data) if squared
/// distances could leave the range of float64.
DataPlan make_plan(const Points& points, const Weights& weights);
DataPlan make_plan(const Points& points);  // rows without weights
/// The plan of a block of rows, which searches alone need. seen: the range of the blocks before, which is extended by
/// this one. Throws as for all rows that were seen.
DataPlan make_block_plan(const Points& points, ColumnRange& seen);

/// The scale of inertia sums of rows labelled with the nearest of centroids (k, d). It covers the squared diagonal of
/// the bounding box of the points, and the smallest, over the centroids, of the largest D from a centroid to the box. A
/// centroid far from all points does not coarsen the scale. Throws Error(data) if squared distances, or their weighted
/// sum, could leave the range of float64.
FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids);

/// The same for any labels: covers the largest D from the box to a centroid with rows. counts: (k) rows of each label.
FixedScale inertia_scale(const DataPlan& plan, MatrixView<const double> centroids,
                         std::span<const std::int64_t> counts);

}  // namespace kith
