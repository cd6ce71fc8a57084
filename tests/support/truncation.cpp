// Vectors whose products are lost, one sign at a time, if tensor cores align the products of a step to the largest and
// truncate.
#include "tests/support/truncation.h"

#include <cmath>

#include "core/numbers/philox.h"

namespace kith::test {
namespace {

constexpr std::int64_t kStep = 16;  // products that one instruction adds

/// The column of the large value of vector i: all columns of the first step, then of the last, then of a middle one.
std::int64_t large_place(std::int64_t i, std::int64_t d) {
  const std::int64_t steps = (d + kStep - 1) / kStep, of[3] = {0, steps - 1, steps / 2};
  const std::int64_t place = of[i / kStep % 3] * kStep + i % kStep;
  return place < d ? place : i % d;
}

/// Squares from just below 2^-22 to 2^-26: above, on and below the last bit of 1 in float32.
double small_value(std::int64_t i) {
  constexpr double kJustBelow2 = 2 - 0x1p-10;
  constexpr double kValues[5] = {0x1p-12, 0x1p-12 * kJustBelow2, 0x1p-13, 0x1p-13 * kJustBelow2, 0x1p-12 * 1.5};
  return kValues[i / (3 * kStep) % 5];
}

/// 0.5 to 1, eleven bits.
double even_value(std::int64_t i, std::int64_t j) {
  const std::uint64_t bits = random_bits(31, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
  return 0.5 + static_cast<double>(bits >> 54) * 0x1p-11;
}

double row_value(std::int64_t i, std::int64_t j, std::int64_t d) {
  const std::int64_t place = large_place(i, d);
  switch (i % 7) {
    case 3:
      return j == place ? 1.0 : j == (place + d / 2) % d ? -1.0 : small_value(i);
    case 4:
      return std::ldexp(1.0, static_cast<int>(-(12 * j / d)));
    case 5:
      return std::ldexp(1.0, static_cast<int>(12 * j / d) - 11);
    case 6:
      return even_value(i, j);
    default:
      return j == place ? 1.0 : small_value(i);
  }
}

}  // namespace

Matrix<double> truncating_rows(VectorSizes sizes) {
  Matrix<double> rows(sizes.count, sizes.d);
  for (std::int64_t i = 0; i < sizes.count; ++i) {
    for (std::int64_t j = 0; j < sizes.d; ++j) rows(i, j) = row_value(i, j, sizes.d);
  }
  return rows;
}

Matrix<double> truncating_centroids(VectorSizes sizes) {
  constexpr double kFactors[5] = {0.0, 1.0, 2.0, 0.5, 1.5};
  Matrix<double> centroids(sizes.count, sizes.d);
  for (std::int64_t c = 0; c < sizes.count; ++c) {
    const std::int64_t place = large_place(c / 5, sizes.d);
    for (std::int64_t j = 0; j < sizes.d; ++j) {
      centroids(c, j) = j == place ? 1.0 : kFactors[c % 5] * 0x1p-12;
    }
  }
  return centroids;
}

}  // namespace kith::test
