// Row weights: their validation, and how they enter the integer sums.
//
// Integral weights multiply the integers of a row, so a row of weight w has exactly the same effect as w copies of it.
// Fractional weights multiply the values before rounding. docs/contract.md, Weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/numbers/fixed_point.h"
#include "core/runtime/portable.h"

namespace kith {

/// The weights of all rows, and the parameters of weighted sums. Rows of weight 0 do not enter sums.
struct Weights {
  std::span<const double> rows = {};  // (n) borrowed; empty: every row has weight 1
  bool integral = true;               // all weights are integers, so rows count as copies
  std::int64_t terms = 0;             // number of terms of the sums: copies with integral weights, else rows
  int exponent = 0;                   // 2^exponent exceeds every fractional weight; 0 with integral weights
  double total = 0.0;                 // sum of all weights, from the same integers as the sums per cluster
  double smallest = 1.0;              // smallest weight above 0

  bool given() const { return !rows.empty(); }
  /// The bits of a value before its weight multiplies it, such that sums fit into an int64.
  int value_bits() const { return term_bits(terms) - exponent; }
  /// The grid of sums of weights, which take two limbs of term_bits(terms) bits.
  FixedScale grid() const { return fixed_scale(integral ? 0 : value_bits()); }
};

/// n rows of weight 1.
Weights equal_weights(std::int64_t rows);

/// Validates weights (n) and computes their parameters. Throws Error(data) naming the row for weights that are negative
/// or not finite, or fractional and too large, too small or too far apart for the sums; also if all weights are 0.
Weights checked_weights(std::span<const double> weights, const std::string& name);

/// A sum of weights from its limbs.
inline double total_weight(Limbs sum, const Weights& weights) {
  return from_limbs(sum, weights.grid().shift, term_bits(weights.terms));
}

/// The two ways in which a weight enters a sum; one of them is always 1.
struct RowWeight {
  double factor = 1.0;      // multiplies the value
  std::int64_t copies = 1;  // multiplies the integers
};
KITH_BOTH static inline RowWeight row_weight(double weight, bool integral) {
  return integral ? RowWeight{1.0, static_cast<std::int64_t>(weight)} : RowWeight{weight, 1};
}

/// The weights of a range of rows, for kernels.
struct RowWeights {
  const double* weight = nullptr;  // null: every row has weight 1
  bool integral = true;

  KITH_BOTH RowWeight of(std::int64_t row) const {
    return weight == nullptr ? RowWeight{} : row_weight(weight[row], integral);
  }
  RowWeights from(std::int64_t row) const { return {weight == nullptr ? nullptr : weight + row, integral}; }
};

/// to_fixed() and to_limbs() of a value with a weight.
KITH_BOTH static inline std::int64_t weighted_fixed(double v, double first, double second, RowWeight weight) {
  return to_fixed(v, first, second * weight.factor) * weight.copies;
}
KITH_BOTH static inline Limbs weighted_limbs(double v, double first, double second, double low_scale,
                                             RowWeight weight) {
  const Limbs limbs = to_limbs(v, first, second * weight.factor, low_scale);
  return {limbs.high * weight.copies, limbs.low * weight.copies};
}

}  // namespace kith
