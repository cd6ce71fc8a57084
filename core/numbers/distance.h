// The definitions of kith's distances in float64. Labels and neighbours are those that minimise these functions.
//
// Lane l of thirty-two accumulators adds up columns l, l+32, l+64, ...; a tree of additions joins the lanes. Appended
// zero columns change nothing. Thirty-two lanes fit a GPU warp and four 512-bit registers. The vectorised versions in
// kernels/ do the same operations in the same order; tests/support/reference.cpp repeats the definition in plain loops.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/runtime/portable.h"

namespace kith {

/// The quantity D that is minimised. Inner products are negated. The last two are of rows of bits.
/// `last`: where functions choose by the measure, the compiler says that a new one needs a choice of its own.
enum class Measure { squared_euclidean, inner_product, manhattan, chebyshev, hamming, jaccard, last = jaccard };
constexpr bool is_of_bits(Measure measure) { return measure == Measure::hamming || measure == Measure::jaccard; }

/// The most bits of a row. Two different fractions whose denominators are no larger differ by 2^-52 or more, so they
/// are different numbers of float64 too, and these have the order of the fractions.
inline constexpr std::int64_t kMostBits = std::int64_t{1} << 26;

/// D of two rows of bits: the bits that differ, or their share of the bits that either row has. Rows without a bit are
/// equal.
KITH_BOTH constexpr double bit_distance(Measure measure, std::int64_t differing, std::int64_t in_either) {
  if (measure == Measure::hamming) return static_cast<double>(differing);
  return in_either == 0 ? 0.0 : static_cast<double>(differing) / static_cast<double>(in_either);
}

inline constexpr int kLanes = 32;

/// A bound of the relative error of D in float64, without underflow: from differences, squares and additions.
KITH_BOTH constexpr double definition_rounding(std::int64_t columns) {
  return (static_cast<double>(columns) / kLanes + 8) * 0x1p-53;
}

/// The sum of the squares of term(0), ..., term(d - 1) in the order of the definition, 32 columns at a time.
template <class Term>
inline double sum_of_squares(std::int64_t d, const Term& term) {
  double lane[kLanes] = {};
  for (std::int64_t first = 0; first < d; first += kLanes) {
    const auto add = [&](int l) {
      const double t = term(first + l);
      lane[l] = std::fma(t, t, lane[l]);
    };
    if (d - first >= kLanes) {
      for (int l = 0; l < kLanes; ++l) add(l);  // a fixed number, which compilers unroll
    } else {
      for (int l = 0; l < d - first; ++l) add(l);
    }
  }
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
  }
  return lane[0];
}

/// The squared Euclidean distance D of two rows of d columns. Operand types may differ; all arithmetic is float64.
template <class A, class B>
inline double squared_distance(const A* x, const B* c, std::int64_t d) {
  return sum_of_squares(d, [&](std::int64_t j) { return static_cast<double>(x[j]) - static_cast<double>(c[j]); });
}

/// dot(x, x).
template <class A>
inline double squared_length(const A* x, std::int64_t d) {
  return sum_of_squares(d, [&](std::int64_t j) { return static_cast<double>(x[j]); });
}

/// D of two rows of bits, eight in each of d values.
template <class A, class B>
inline double packed_bit_distance(Measure measure, const A* x, const B* c, std::int64_t d) {
  std::int64_t differing = 0, in_either = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    const auto a = static_cast<unsigned>(x[j]), b = static_cast<unsigned>(c[j]);
    differing += __builtin_popcount(a ^ b);
    in_either += __builtin_popcount(a | b);
  }
  return bit_distance(measure, differing, in_either);
}

/// D of two rows of d columns by any measure, in the same lanes. docs/contract.md, section 2.
template <class A, class B>
inline double distance_by(Measure measure, const A* x, const B* c, std::int64_t d) {
  static_assert(Measure::last == Measure::jaccard, "compute the new measure here");
  if (measure == Measure::squared_euclidean) return squared_distance(x, c, d);
  if (is_of_bits(measure)) return packed_bit_distance(measure, x, c, d);
  double lane[kLanes] = {};
  for (std::int64_t j = 0; j < d; ++j) {
    const double a = static_cast<double>(x[j]), b = static_cast<double>(c[j]);
    double& sum = lane[j % kLanes];
    if (measure == Measure::inner_product) sum = std::fma(a, b, sum);
    if (measure == Measure::manhattan) sum += std::abs(a - b);
    if (measure == Measure::chebyshev) sum = std::fmax(sum, std::abs(a - b));
  }
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int l = 0; l < w; ++l) {
      lane[l] = measure == Measure::chebyshev ? std::fmax(lane[l], lane[l + w]) : lane[l] + lane[l + w];
    }
  }
  return measure == Measure::inner_product ? 0.0 - lane[0] : lane[0];  // avoids -0
}

}  // namespace kith
