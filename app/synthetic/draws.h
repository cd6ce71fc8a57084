// Random numbers of synthetic points, by (seed, stream, draw).
//
// All but box_muller() use only + - * / and square roots, which IEEE 754 rounds in one way everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/numbers/philox.h"

namespace kith::app {

/// What random numbers are for. Apart from those that k-means draws under the same seed.
enum class DrawStream : std::uint64_t {
  centers = std::uint64_t{1} << 32,
  labels,
  duplicates,
  values,
  radii,
  originals,  // which of a smaller set of rows a row repeats
  original_values,
  parts,  // which of two distributions a row has
};

inline std::int64_t draw_below(std::uint64_t seed, DrawStream stream, std::int64_t draw, std::int64_t total) {
  return random_below(seed, static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(draw), total);
}

/// In [0, 1).
inline double uniform(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(stream), draw) >> 11) * 0x1p-53;
}

/// Normal, as a sum of twelve uniform numbers, exact in integers: mean 0, variance 1, at most 6 from the mean.
inline double normal(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  std::int64_t sum = 0;
  for (std::uint64_t part = 0; part < 3; ++part) {
    for (const std::uint32_t word : philox(seed, static_cast<std::uint64_t>(stream), 3 * draw + part)) sum += word;
  }
  constexpr std::int64_t kMean = 6 * ((std::int64_t{1} << 32) - 1);
  return static_cast<double>(sum - kMean) * 0x1p-32;
}

/// Four normal numbers in float32. G. E. P. Box and M. E. Muller: A note on the generation of random normal deviates
/// (1958). The last bits depend on the logarithm and cosine of the C library.
inline std::array<float, 4> box_muller(std::uint64_t seed, std::uint64_t stream, std::uint64_t draw) {
  const auto words = philox(seed, stream, draw);
  std::array<float, 4> out;
  for (int pair = 0; pair < 2; ++pair) {
    const float first = (static_cast<float>(words[2 * pair]) + 0.5F) * 0x1p-32F;
    const float angle = static_cast<float>(words[2 * pair + 1]) * 0x1p-32F * 2.0F * std::numbers::pi_v<float>;
    const float radius = std::sqrt(-2.0F * std::log(std::min(first, 1.0F)));
    out[2 * pair] = radius * std::cos(angle);
    out[2 * pair + 1] = radius * std::sin(angle);
  }
  return out;
}

/// Student's t with 2 degrees of freedom, by its quantile function (2 p - 1) / sqrt(2 p (1 - p)); at most 7e7.
inline double student_t2(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(stream), draw) >> 12;
  const double p = (static_cast<double>(bits) + 0.5) * 0x1p-52;  // never 0 or 1
  return (2.0 * p - 1.0) / std::sqrt(2.0 * p * (1.0 - p));
}

/// e^x for |x| <= 128, to about 11 digits: a Taylor series at x / 2^16, squared 16 times.
inline double exponential(double x) {
  const double t = x * 0x1p-16;
  double power = 1.0 + t * (1.0 + t / 2.0 * (1.0 + t / 3.0 * (1.0 + t / 4.0)));
  for (int i = 0; i < 16; ++i) power *= power;
  return power;
}

/// Poisson with this mean, at most 128, by inversion of one uniform number.
inline double poisson(double mean, std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  constexpr int kMost = 1000;  // the sum of the probabilities may end below 1
  const double u = uniform(seed, stream, draw);
  double term = exponential(-mean), sum = term;
  int count = 0;
  while (u >= sum && count < kMost) {
    ++count;
    term *= mean / count;
    sum += term;
  }
  return count;
}

}  // namespace kith::app
