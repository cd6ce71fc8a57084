// The certificate of low-precision screens: a bound of the error of a screened score.
//
// The score of centroid c for row x is h(c) - x'.c' with h = |c'|^2 / 2 on transformed values (ScreenTransform); it
// ranks like D. With E the error bound, a label is certified if second best - best > 2 E; otherwise the row is
// ambiguous, and the definition is evaluated for every c within 2 E of the best. docs/contract.md, Screens, derives E.
// The summation bounds come from N. J. Higham: Accuracy and Stability of Numerical Algorithms (2002), chapter 3.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/numbers/distance.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"
#include "core/runtime/portable.h"

namespace kith {

/// The squared norm of a transformed row, and that of its rounding error.
struct ScreenedNorms {
  double squared_norm = 0.0;      // |c'|^2, before rounding
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

/// Rows in the precision of the screen, with bounds of their rounding errors.
struct ScreenedRows {
  Matrix<float> values;             // (k, d) c^ = float(c 2^-exponent - center)
  std::vector<float> half_sq_norm;  // (k) float(|c'|^2 / 2)
  double largest_norm = 0.0;        // max |c'|
  double largest_residual = 0.0;    // max |c' - c^|
};

/// Transforms and rounds rows (k, d).
ScreenedRows screen_rows(MatrixView<const double> rows, const ScreenTransform& screen);

/// The margin 2 E as a function of the screened norm |x^| of a row, in units of the score, rounded outwards: at(norm)
/// >= 2 E if norm was summed in float32 in any order. Infinite if nothing can be certified. Comparisons with it must be
/// written so that NaN certifies nothing.
struct ScreenMargin {
  float constant = 0.0F;
  float linear = 0.0F;
  float quadratic = 0.0F;
  KITH_BOTH float at(float norm) const { return constant + norm * (linear + norm * quadratic); }
};

/// A limit of screened scores: a score above it proves D(x, c) >= kept, since D = 4^exponent (|x'|^2 + 2 score) and the
/// screened score is within margin / 2 of the exact one. half_sq_norm: a lower bound of |x'|^2 / 2; scale: 2^-exponent.
/// Infinite inputs give NaN or infinity, which no score exceeds.
KITH_BOTH static inline float score_limit(double kept, double scale, double half_sq_norm, float margin) {
  const double limit = kept * scale * scale / 2 - half_sq_norm + static_cast<double>(margin) / 2;
  return static_cast<float>(limit + fabs(limit) * 0x1p-20);
}

/// Error bounds of the arithmetic of a screen.
struct ScreenArithmetic {
  double rounding = 0x1p-24;   // unit roundoff of the operands x^
  double accumulation = 0.0;   // A(d): error of x^.c^ relative to |x^||c^|
  double half_sq_norm = 0.0;   // relative error in h if the sum starts with h
  double marking = 0.0;        // relative change from storing the column index in the low bits of a score
  double smallest = 0x1p-140;  // absolute error of one operation by underflow
};

/// A(d) for fp16 products on tensor cores. They add m products at a time to a float32 sum, align the m + 1 terms to the
/// largest, truncate them at float32 precision or better, and truncate the result. This gives at most m + 1 errors of
/// 2^-23 of the sum of magnitudes per m products, in any order. m is 16 from compute capability 9.0 on and 8 on 8.x
/// (measured by M. Fasi et al.: Numerical behavior of NVIDIA tensor cores, 2021; not documented by NVIDIA). A smaller m
/// gives more errors, so m = 8 bounds both.
double tensor_accumulation(std::int64_t columns);

/// The largest norms of transformed rows and of their rounding errors.
struct LargestNorms {
  double norm = 0.0;      // max |c'|
  double residual = 0.0;  // max |c' - c^|
};

/// The margin for rows of d columns against screened rows with these norms.
KITH_BOTH inline ScreenMargin screen_margin(LargestNorms largest, std::int64_t columns, int exponent,
                                            ScreenArithmetic arithmetic) {
  constexpr double kUnit = 0x1p-24;   // float32: h, the subtraction, the comparison
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
  // The argument of at() was itself summed in float32.
  const double summed = 1 + (d + 8) * kUnit * 1.01;

  // Written so that NaN makes the margin unusable.
  const bool usable = 2 * kOutward * constant < kLargestFloat &&
                      2 * kOutward * (linear + vanished) * summed < kLargestFloat && half_sq_norm < 0x1p120 &&
                      exponent >= -126;
  ScreenMargin margin;
  margin.constant = usable ? static_cast<float>(2 * kOutward * constant) : std::numeric_limits<float>::infinity();
  margin.linear = usable ? static_cast<float>(2 * kOutward * (linear + vanished) * summed) : 0.0F;
  margin.quadratic = static_cast<float>(2 * kOutward * definition * summed * summed);
  return margin;
}

/// The increase of the margin's constant for inner products of rows x and q of which only x is centred. length: an
/// upper bound of |x| before centring, in units of 2^exponent. D is rounded by up to (d / 32 + 8) 2^-53 |x| |q|, of
/// which the quadratic term of the margin covers half.
KITH_BOTH inline float product_definition_margin(double length, std::int64_t columns) {
  return static_cast<float>(2.01 * definition_rounding(columns) * length * length);
}

/// The same with the norms of screened rows.
ScreenMargin screen_margin(const ScreenedRows& rows, std::int64_t columns, int exponent, ScreenArithmetic arithmetic);

// The certificate of squared distances of float32 differences, for rows and centroids of few columns.
//
// Both operands are transformed (ScreenTransform) and rounded to float32. With a = |x' - c'| and u = 2^-24, the
// distance |x^ - c^| of the rounded operands differs from a by at most u (|x'| + |c'|) <= u (2 |x'| + a), and the root
// of the screened sum of squares differs from that by at most half of the relative rounding of the sum, whose terms are
// not negative. So neither a centre nor another centroid enters the error. docs/contract.md, Screens.

/// The roots of two scores must differ by constant + linear |x^| + quadratic (their sum), which bounds both errors and
/// the rounding of the definition. roundings: of a product and its addition, 1 if they are fused. marking: the relative
/// change of a score by a number in its low bits.
KITH_BOTH inline ScreenMargin difference_margin(std::int64_t columns, double roundings, double marking) {
  constexpr double kRounding = 0x1p-24, kOutward = 1 + 0x1p-7;  // also for |x^| and the margin in float32
  const double sum = marking + (roundings * static_cast<double>(columns) + 16) * kRounding;
  ScreenMargin margin;
  margin.constant = 0x1p-66F;  // underflow, far below anything that matters
  margin.linear = static_cast<float>(4 * kRounding * kOutward);
  margin.quadratic = static_cast<float>(sum * kOutward);
  return margin;
}

/// The limit of the scores of a row whose smallest score is `smallest`: a centroid with a score above it is farther by
/// the definition than the one with the smallest. norm: |x^|, which float32 may have rounded. Infinite inputs give an
/// infinite limit.
KITH_BOTH inline float difference_limit(const ScreenMargin& margin, float smallest, float norm) {
  const float own = sqrtf(smallest);
  const float above = own + own * margin.quadratic + (norm * margin.linear + margin.constant);
  const float root = above + above * margin.quadratic;
  return root * root;
}

}  // namespace kith
