// The margin of a screen (core/numbers/screen.h) divided into a part of the row and a part of the column, so that a few
// long columns do not widen the margins of all rows.
//
// The error of a pair is a product: 2 E <= X t + constant(c), where X depends on the row and t on the column. X t <=
// X^2 / (2 w) + w t^2 / 2 for any weight w > 0, with equality where w = X / t. Lowered scores, score - (w t^2 / 2 +
// constant(c)) / 2, are then above the exact ones by at most X^2 / (4 w), and below them by that and the column's part.
// docs/contract.md, Screens.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/numbers/screen.h"
#include "core/runtime/portable.h"

namespace kith {

/// 2 E of a column <= X slope + constant, with X = |x^| + per_residual |x' - x^|, but for what DividedMargin adds to
/// all columns.
struct ColumnError {
  float slope = 0.0F;
  float constant = 0.0F;  // infinite: nothing can be certified
};

/// |x' - x^| / |x'| of usual rows and columns with 11 bits of precision.
inline constexpr double kUsualResidual = 0x1.9p-13;
/// How often |x' - x^| counts in X, so that both terms of X need about the same slope. accumulation: of
/// ScreenArithmetic.
KITH_BOTH inline float per_residual_of(double accumulation) {
  return static_cast<float>(1 / (kUsualResidual + accumulation));
}

/// column: of one column. Rows are not rounded in `arithmetic`, since their residuals are known.
KITH_BOTH inline ColumnError column_error(LargestNorms column, std::int64_t columns, int exponent,
                                          ScreenArithmetic arithmetic) {
  const ScreenMargin margin = screen_margin(column, columns, exponent, arithmetic);
  const auto of_residual = static_cast<float>(2.01 * column.norm / per_residual_of(arithmetic.accumulation));
  return {margin.linear > of_residual ? margin.linear : of_residual, margin.constant};
}

/// The largest of all columns: with `floor` > 0, lengths |c'| and their errors.
struct LargestErrors {
  float slope = 0.0F;
  float constant = 0.0F;
  float slope_by_length = 0.0F;     // of slope / (|c'| + floor)
  float constant_by_square = 0.0F;  // of constant / (|c'| + floor)^2
};

struct DividedMargin {
  float per_residual = 0.0F;
  float weight = 1.0F;
  float turn = 0.0F, by_square = 0.0F, by_length = 0.0F, less = 0.0F;  // of the row's part, in X
  float quadratic = 0.0F;                                              // of the row's part, in |x^|
  float constant = std::numeric_limits<float>::infinity();             // of the row's part
  float by_reach = 0.0F, floor = 0.0F;                                 // of the part of the nearest column

  /// The column's part of the margin. Its scores are lowered by half of it.
  KITH_BOTH float part_of(ColumnError column) const {
    return (column.constant + weight * column.slope * column.slope / 2) * (1 + 0x1p-18F);
  }

  /// A bound of (lowered score of the nearest column) - (lowest of all lowered scores). norm: |x^|; residual: |x' -
  /// x^|; lowest: that score, or a bound above it; part: of the column that has it, or a bound. Write comparisons with
  /// it so that a NaN certifies nothing.
  KITH_BOTH float at(float norm, float residual, float lowest, float part) const {
    constexpr float kOutward = 1 + 0x1p-18F;
    const float x = norm + per_residual * residual, length = (norm + residual) * kOutward;
    const float row =
        (x <= turn ? x * x * by_square : x * by_length - less) * kOutward + norm * norm * quadratic + constant;
    // The column with the lowest score is not farther than this without its own part, which by_reach has included.
    const float squared = length * length * kOutward + 2 * lowest + row * kOutward;
    const float reach = (length + sqrtf(squared > 0 ? squared : 0.0F)) * kOutward + floor;
    const float of_reach = by_reach * reach * reach * kOutward;
    return (row + (of_reach < part ? of_reach : part)) * kOutward;
  }
};

/// The margin for columns with errors up to `largest`, of which `mean_slope` is usual. usual_x: X of a usual row;
/// most_lowering: scores may be lowered by this; constant: added to the margins of all rows; quadratic: of
/// ScreenMargin; accumulation: of ScreenArithmetic. `floor` is that of `largest`.
KITH_BOTH inline DividedMargin divided_margin(const LargestErrors& largest, double mean_slope, double usual_x,
                                              double floor, double most_lowering, float constant, float quadratic,
                                              double accumulation) {
  constexpr double kOutward = 1 + 0x1p-18;
  DividedMargin margin;
  const double slope = largest.slope;
  double weight = usual_x / mean_slope;
  if (!(weight * slope * slope <= 2 * most_lowering)) weight = 2 * most_lowering / (slope * slope);
  if (!(weight > 0x1p-60 && weight < 0x1p60)) weight = 1.0;
  margin.per_residual = per_residual_of(accumulation);
  margin.weight = static_cast<float>(weight);
  const double w = margin.weight;
  margin.turn = static_cast<float>(w * slope);
  margin.by_square = static_cast<float>(kOutward / (2 * w));
  margin.by_length = static_cast<float>(slope * kOutward);
  margin.less = static_cast<float>(w * slope * slope / 2 * (1 - 0x1p-18));
  margin.quadratic = quadratic;
  margin.constant = constant;
  margin.floor = static_cast<float>(floor);
  // With l = |c'| + floor of the nearest column, its part is at most g l^2, and l <= reach + sqrt(2 g) l.
  const double by_length = largest.slope_by_length;
  const double g = (largest.constant_by_square + w * by_length * by_length / 2) * kOutward;
  const double shrink = 1 - sqrt(2 * g);
  margin.by_reach =
      shrink >= 0.5 ? static_cast<float>(g / (shrink * shrink) * kOutward) : std::numeric_limits<float>::infinity();
  if (!(largest.constant < 0x1p120F)) margin.constant = std::numeric_limits<float>::infinity();
  return margin;
}

}  // namespace kith
