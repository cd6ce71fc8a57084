// The certificate: how far a screened score may be from the true one, so that a low-precision screen may decide a row.
//
// The score of centroid c for row x is h(c) - x'.c' with h = |c'|^2 / 2 on centred, scaled values (Screen); it ranks
// like D. A row is decided when second best - best > 2 E; otherwise every c within 2 E of the best is recomputed by the
// definition. docs/contract.md, Screens, derives E; N. J. Higham, Accuracy and Stability of Numerical Algorithms
// (2002), chapter 3, is the source of the summation bounds.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/data_plan.h"
#include "core/distance.h"
#include "core/matrix.h"
#include "core/portable.h"

namespace kith {

/// One row on its way into the screen: its squared norm before and what rounding took from it, as squares.
struct ScreenedNorms {
  double squared_norm = 0.0;      // |c'|^2
  double squared_residual = 0.0;  // |c' - c^|^2
};

/// out (d) = float(row 2^-exponent - center). `scale` = 2^-screen.exponent.
template <class T>
inline ScreenedNorms screen_row(const T* row, std::int64_t d, double scale, const float* center, float* out) {
  ScreenedNorms norms;
  for (std::int64_t j = 0; j < d; ++j) {
    const double centred = static_cast<double>(row[j]) * scale - static_cast<double>(center[j]);
    out[j] = static_cast<float>(centred);
    const double lost = centred - static_cast<double>(out[j]);
    norms.squared_norm += centred * centred;
    norms.squared_residual += lost * lost;
  }
  return norms;
}

/// Rows as the screen multiplies them, and what was lost on the way.
struct ScreenedRows {
  Matrix<float> values;             // (k, d) c^ = float(c 2^-exponent - center)
  std::vector<float> half_sq_norm;  // (k) float(|c'|^2 / 2)
  double largest_norm = 0.0;        // max |c'|
  double largest_residual = 0.0;    // max |c' - c^|
};

ScreenedRows screen_rows(MatrixView<const double> rows, const ScreenTransform& screen);

/// E as a function of a row's screened norm |x^|, in units of the score; already doubled and rounded outwards, so that
/// at(norm) >= 2 E when norm was summed in float32 in any order. Infinite when nothing can be certified; a comparison
/// with it must be written so that NaN certifies nothing.
struct ScreenMargin {
  float constant = 0.0F;
  float linear = 0.0F;
  float quadratic = 0.0F;
  KITH_BOTH float at(float norm) const { return constant + norm * (linear + norm * quadratic); }
};

/// A screened score above this proves D(x, c) >= kept: D = 4^exponent (|x'|^2 + 2 score), and the screened score is
/// within margin / 2 of the true one. half_sq_norm: a lower bound of |x'|^2 / 2; scale: 2^-exponent. What is infinite
/// makes a NaN or an infinity here, above which no score is.
KITH_BOTH static inline float score_limit(double kept, double scale, double half_sq_norm, float margin) {
  const double limit = kept * scale * scale / 2 - half_sq_norm + static_cast<double>(margin) / 2;
  return static_cast<float>(limit + fabs(limit) * 0x1p-20);
}

/// What a screen's arithmetic may lose.
struct ScreenArithmetic {
  double rounding = 0x1p-24;   // unit roundoff of the screened operands of the rows x
  double accumulation = 0.0;   // A(d): error of x^.c^ relative to |x^||c^|
  double half_sq_norm = 0.0;   // what a sum that begins with the half-norm may lose of it
  double marking = 0.0;        // what marking a score with its column changes, relative to the score
  double smallest = 0x1p-140;  // what one operation may lose when numbers vanish
};

/// A(d) of products of halves on tensor cores, which add m products at a time to a float32 sum, the m + 1 aligned to
/// the largest of them and truncated there at float32's precision or better, and truncate the result: at most m + 1
/// errors of 2^-23 of the sum of magnitudes per m products, in whatever order. m is 16 from compute capability 9.0 on
/// and 8 on 8.x (M. Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021, measured it; no manual says it). The
/// fewer at a time, the more errors, so 8 bounds both.
double tensor_accumulation(std::int64_t columns);

/// The largest norms of rows that were screened, before rounding and of what rounding took.
struct LargestNorms {
  double norm = 0.0;      // max |c'|
  double residual = 0.0;  // max |c' - c^|
};

/// The margin for rows of d columns against screened rows with these norms.
KITH_BOTH inline ScreenMargin screen_margin(LargestNorms largest, std::int64_t columns, int exponent,
                                            ScreenArithmetic arithmetic) {
  constexpr double kUnit = 0x1p-24;   // float32: half-norms, the subtraction, the comparison
  constexpr double kOutward = 1.001;  // float32 evaluation of the margin itself, products of roundings
  constexpr double kLargestFloat = 0x1p127;
  const double d = static_cast<double>(columns);
  const double norm = largest.norm * (1 + 0x1p-20);
  const double residual = largest.residual * (1 + 0x1p-20);
  const double half_sq_norm = norm * norm / 2;
  const double definition = definition_rounding(columns);  // of D <= 2 |x'|^2 + 2 |c'|^2, per unit of score
  const double vanished = (d + 2) * arithmetic.smallest;   // underflow, far below anything that matters

  // Per unit of |x^|: r |c'|, R, accumulation, and three roundings of scores (final addition, two in the comparison).
  const double linear =
      arithmetic.rounding * (1 + 0x1p-10) * norm + residual +
      (arithmetic.accumulation + (3 * kUnit + arithmetic.marking) * (1 + arithmetic.accumulation)) * (norm + residual);
  const double constant = (4 * kUnit + arithmetic.half_sq_norm + arithmetic.marking * (1 + kUnit)) * half_sq_norm +
                          definition * norm * norm + vanished * (1 + norm);
  // The norm that at() is given was itself summed in float32.
  const double summed = 1 + (d + 8) * kUnit * 1.01;

  // Written so that a NaN is not usable.
  const bool usable = 2 * kOutward * constant < kLargestFloat &&
                      2 * kOutward * (linear + vanished) * summed < kLargestFloat && half_sq_norm < 0x1p120 &&
                      exponent >= -126;
  ScreenMargin margin;
  margin.constant = usable ? static_cast<float>(2 * kOutward * constant) : std::numeric_limits<float>::infinity();
  margin.linear = usable ? static_cast<float>(2 * kOutward * (linear + vanished) * summed) : 0.0F;
  margin.quadratic = static_cast<float>(2 * kOutward * definition * summed * summed);
  return margin;
}

/// What the constant of that margin grows by where scores rank like inner products of rows x and q of which only x was
/// centred: x is up to `length` long before that, in units of 2^exponent, and D is rounded by up to (d / 32 + 8) 2^-53
/// |x| |q|, of which the margin's quadratic term has half.
KITH_BOTH inline float product_definition_margin(double length, std::int64_t columns) {
  return static_cast<float>(2.01 * definition_rounding(columns) * length * length);
}

ScreenMargin screen_margin(const ScreenedRows& rows, std::int64_t columns, int exponent, ScreenArithmetic arithmetic);

}  // namespace kith
