// Synthetic points: a row is a function of the recipe and its number, the same on every machine and thread.
//
// Only + - * / and square roots, which IEEE 754 rounds in one way everywhere: no logarithm or cosine of a library. A
// normal deviate is a sum of twelve uniform ones, exact in integers: mean 0, variance 1, at most 6 from the mean.
#include "app/synthetic.h"

#include <algorithm>
#include <cmath>

#include "core/philox.h"

namespace kith::app {
namespace {

/// What random numbers are for. Apart from those that k-means draws under the same seed.
enum class DrawStream : std::uint64_t { centers = std::uint64_t{1} << 32, labels, duplicates, values, radii };

constexpr double kBox = 10.0;

double uniform(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {  // in [-10, 10)
  const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(stream), draw) >> 11;
  return static_cast<double>(bits) * 0x1p-53 * (2.0 * kBox) - kBox;
}

double normal(std::uint64_t seed, DrawStream stream, std::uint64_t draw) {
  std::int64_t sum = 0;
  for (std::uint64_t part = 0; part < 3; ++part) {
    for (const std::uint32_t word : philox(seed, static_cast<std::uint64_t>(stream), 3 * draw + part)) sum += word;
  }
  constexpr std::int64_t kMean = 6 * ((std::int64_t{1} << 32) - 1);
  return static_cast<double>(sum - kMean) * 0x1p-32;
}

}  // namespace

Synthetic::Synthetic(const Recipe& recipe) : recipe_(recipe) {
  if (recipe.shape != Shape::blobs) return;
  centers_ = Matrix<double>(recipe.clusters, recipe.columns);
  for (std::int64_t i = 0; i < centers_.size(); ++i) centers_.data()[i] = uniform(recipe.seed, DrawStream::centers, i);
}

std::int64_t Synthetic::original(std::int64_t number) const {
  const std::int64_t originals = recipe_.rows - recipe_.duplicates;
  if (number < originals) return number;
  return random_below(recipe_.seed, static_cast<std::uint64_t>(DrawStream::duplicates), number, originals);
}

std::int32_t Synthetic::label(std::int64_t number) const {
  if (recipe_.shape == Shape::uniform) return 0;
  return static_cast<std::int32_t>(
      random_below(recipe_.seed, static_cast<std::uint64_t>(DrawStream::labels), original(number), recipe_.clusters));
}

void Synthetic::row(std::int64_t number, std::span<double> out) const {
  const std::int64_t source = original(number), label = this->label(number);
  const auto draw = static_cast<std::uint64_t>(source) * static_cast<std::uint64_t>(recipe_.columns);
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (recipe_.shape == Shape::uniform) {
      out[j] = uniform(recipe_.seed, DrawStream::values, draw + j);
    } else {
      out[j] = normal(recipe_.seed, DrawStream::values, draw + j);
    }
    if (recipe_.shape == Shape::blobs) out[j] += centers_(label, static_cast<std::int64_t>(j));
  }
  if (recipe_.shape == Shape::shells) {
    double squares = 0.0;
    for (const double value : out) squares += value * value;
    const double radius = kBox * static_cast<double>(label + 1) / static_cast<double>(recipe_.clusters);
    const double length = radius * (1.0 + 0.01 * normal(recipe_.seed, DrawStream::radii, source));
    // A row of zeros, which has no direction, stays at the centre.
    const double scale = squares > 0.0 ? length / std::sqrt(squares) : 0.0;
    for (double& value : out) value *= scale;
  }
  for (double& value : out) {
    if (recipe_.integers) value = std::clamp(std::nearbyint(128.0 + 12.0 * value), 0.0, 255.0);
    value += recipe_.offset;
  }
}

}  // namespace kith::app
