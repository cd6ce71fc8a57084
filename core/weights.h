// What rows weigh: weights that are checked, and how a weight enters the integer sums.
//
// Whole weights multiply the integers of a row, so that a row of weight w is w copies of it, to the last bit. Others
// multiply its values before these are rounded. docs/contract.md, Weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/fixed_point.h"
#include "core/portable.h"

namespace kith {

/// The weights of all rows, and what sums over them have to know. Rows of weight 0 are no part of the sums.
struct Weights {
  std::span<const double> rows = {};  // (n), in the caller's memory; empty: every row weighs 1
  bool integral = true;               // whole numbers, so that rows count as copies
  std::int64_t terms = 0;             // that sums must have room for: copies of whole weights, rows of others
  int exponent = 0;                   // 2^exponent is above every weight; 0 of whole ones, whose copies are the terms
  double total = 0.0;                 // of all weights, from the integers that are also summed for each cluster
  double smallest = 1.0;              // above 0

  bool given() const { return !rows.empty(); }
  /// The bits that a value may have before its weight multiplies it, so that sums stay in an int64.
  int value_bits() const { return term_bits(terms) - exponent; }
  /// The grid of the sums of weights, which are in two limbs of term_bits(terms) bits.
  FixedScale grid() const { return fixed_scale(integral ? 0 : value_bits()); }
};

/// Of n rows that weigh 1 each.
Weights equal_weights(std::int64_t rows);

/// Checks the weights (n) and finds what is to be known. Throws Error(data) naming the row: weights that are negative
/// or not finite, that are not whole and too large, too small or too far apart for the sums; and where all are 0.
Weights checked_weights(std::span<const double> weights, const std::string& name);

/// The total of some weights from its limbs.
inline double total_weight(Limbs sum, const Weights& weights) {
  return from_limbs(sum, weights.grid().shift, term_bits(weights.terms));
}

/// A weight as it enters a sum.
struct RowWeight {
  double factor = 1.0;      // of the value
  std::int64_t copies = 1;  // of its integers
};
KITH_BOTH static inline RowWeight row_weight(double weight, bool integral) {
  return integral ? RowWeight{1.0, static_cast<std::int64_t>(weight)} : RowWeight{weight, 1};
}

/// The weights of some rows as kernels take them.
struct RowWeights {
  const double* weight = nullptr;  // null: every row weighs 1
  bool integral = true;

  KITH_BOTH RowWeight of(std::int64_t row) const {
    return weight == nullptr ? RowWeight{} : row_weight(weight[row], integral);
  }
  RowWeights from(std::int64_t row) const { return {weight == nullptr ? nullptr : weight + row, integral}; }
};

/// to_fixed() and to_limbs() of a value of a row of this weight.
KITH_BOTH static inline std::int64_t weighted_fixed(double v, double first, double second, RowWeight weight) {
  return to_fixed(v, first, second * weight.factor) * weight.copies;
}
KITH_BOTH static inline Limbs weighted_limbs(double v, double first, double second, double low_scale,
                                             RowWeight weight) {
  const Limbs limbs = to_limbs(v, first, second * weight.factor, low_scale);
  return {limbs.high * weight.copies, limbs.low * weight.copies};
}

}  // namespace kith
