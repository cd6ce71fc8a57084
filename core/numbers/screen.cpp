// Screened copies of centroids, and the margin that certifies scores.
#include "core/numbers/screen.h"

#include <algorithm>

namespace kith {

ScreenedRows screen_rows(MatrixView<const double> rows, const ScreenTransform& screen) {
  ScreenedRows screened;
  screened.values = Matrix<float>(rows.rows, rows.columns);
  screened.half_sq_norm.resize(rows.rows);
  const double scale = power_of_two(-screen.exponent);
  for (std::int64_t c = 0; c < rows.rows; ++c) {
    const ScreenedNorms norms =
        screen_row(rows.row(c).data(), rows.columns, scale, screen.center.data(), screened.values.row(c).data());
    screened.half_sq_norm[c] = static_cast<float>(norms.squared_norm / 2);
    screened.largest_norm = std::max(screened.largest_norm, std::sqrt(norms.squared_norm));
    screened.largest_residual = std::max(screened.largest_residual, std::sqrt(norms.squared_residual));
    // max() ignores NaN, which a centroid outside the range of float32 gives.
    if (!(norms.squared_residual <= norms.squared_norm)) {
      screened.largest_norm = std::numeric_limits<double>::infinity();
    }
  }
  return screened;
}

double tensor_accumulation(std::int64_t columns) {
  constexpr double kAtOnce = 8, kPadding = 32;  // the last products of a row are padded with zeros
  const double errors = (kAtOnce + 1) / kAtOnce * (static_cast<double>(columns) + kPadding) * 0x1p-23;
  return errors / (1 - std::min(errors, 0.5));
}

ScreenMargin screen_margin(const ScreenedRows& rows, std::int64_t columns, int exponent, ScreenArithmetic arithmetic) {
  return screen_margin({rows.largest_norm, rows.largest_residual}, columns, exponent, arithmetic);
}

}  // namespace kith
