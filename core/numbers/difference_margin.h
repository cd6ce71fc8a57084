// The certificate of squared distances of float32 differences, for rows and centroids of few columns.
//
// Both operands are transformed (ScreenTransform) and rounded to float32. With a = |x' - c'| and u = 2^-24, the
// distance |x^ - c^| of the rounded operands differs from a by at most u (|x'| + |c'|) <= u (2 |x'| + a), and the root
// of the screened sum of squares differs from that by at most half of the relative rounding of the sum, whose terms are
// not negative. So neither a centre nor another centroid enters the error. docs/contract.md, Screens.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/numbers/screen.h"
#include "core/runtime/portable.h"

namespace kith {

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
