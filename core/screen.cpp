// Screened copies of centroids and the margin below which a screened score proves nothing.
#include "core/screen.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/distance.h"

namespace kith {

ScreenedRows screen_rows(MatrixView<const double> rows, const Screen& screen) {
  ScreenedRows screened;
  screened.values = Matrix<float>(rows.rows, rows.columns);
  screened.half_norm.resize(rows.rows);
  const double scale = power_of_two(-screen.exponent);
  for (std::int64_t c = 0; c < rows.rows; ++c) {
    const ScreenedNorms norms =
        screen_row(rows.row(c).data(), rows.columns, scale, screen.center.data(), screened.values.row(c).data());
    screened.half_norm[c] = static_cast<float>(norms.squared_norm / 2);
    screened.largest_norm = std::max(screened.largest_norm, std::sqrt(norms.squared_norm));
    screened.largest_residual = std::max(screened.largest_residual, std::sqrt(norms.squared_residual));
    // max() passes over a NaN, which a centroid beyond float32 leaves behind.
    if (!(norms.squared_residual <= norms.squared_norm)) {
      screened.largest_norm = std::numeric_limits<double>::infinity();
    }
  }
  return screened;
}

double tensor_accumulation(std::int64_t columns) {
  constexpr double kAtOnce = 4, kPadding = 32;  // the last products of a row are added to zeros
  const double errors = (kAtOnce + 1) / kAtOnce * (static_cast<double>(columns) + kPadding) * 0x1p-23;
  return errors / (1 - std::min(errors, 0.5));
}

ScreenMargin screen_margin(const ScreenedRows& rows, std::int64_t columns, int exponent, ScreenArithmetic arithmetic) {
  constexpr double kUnit = 0x1p-24;   // float32: half-norms, the subtraction, the comparison
  constexpr double kOutward = 1.001;  // float32 evaluation of the margin itself, products of roundings
  const double d = static_cast<double>(columns);
  const double norm = rows.largest_norm * (1 + 0x1p-20);
  const double residual = rows.largest_residual * (1 + 0x1p-20);
  const double half_norm = norm * norm / 2;
  const double definition = (d / kLanes + 8) * 0x1p-53;  // of D <= 2 |x'|^2 + 2 |c'|^2, per unit of score
  const double vanished = (d + 2) * 0x1p-140;            // underflow, far below anything that matters

  // Per unit of |x^|: r |c'|, R, accumulation, and three roundings of scores (final addition, two in the comparison).
  const double linear = arithmetic.rounding * (1 + 0x1p-10) * norm + residual +
                        (arithmetic.accumulation + 3 * kUnit * (1 + arithmetic.accumulation)) * (norm + residual);
  const double constant = 4 * kUnit * half_norm + definition * norm * norm + vanished * (1 + norm);
  // The norm that at() is given was itself summed in float32.
  const double summed = 1 + (d + 8) * kUnit * 1.01;

  ScreenMargin margin;
  margin.constant = static_cast<float>(2 * kOutward * constant);
  margin.linear = static_cast<float>(2 * kOutward * (linear + vanished) * summed);
  margin.quadratic = static_cast<float>(2 * kOutward * definition * summed * summed);
  const bool usable = std::isfinite(margin.constant) && std::isfinite(margin.linear) && half_norm < 0x1p120 &&
                      std::isfinite(rows.largest_norm) && exponent >= -126;
  if (!usable) margin.constant = std::numeric_limits<float>::infinity();
  return margin;
}

}  // namespace kith
