// Synthetic points: a row is a function of the recipe and its number, the same on every machine and thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"

namespace kith::app {

enum class Shape { blobs, uniform, shells };

/// What to make. All shapes lie in or around the box from -10 to 10 in every column.
struct Recipe {
  Shape shape = Shape::blobs;
  std::int64_t rows = 10'000;
  std::int64_t columns = 16;
  std::int64_t clusters = 10;  // blobs or shells
  std::uint64_t seed = 0;
  double offset = 0.0;          // added to every value
  std::int64_t duplicates = 0;  // of the last rows, each repeats one of the rows before them
  bool integers = false;        // whole numbers 0 .. 255: 128 + 12 v, before the offset
};

/// blobs: normal around one of k centres drawn in the box, deviation 1. uniform: in the box. shells: k spheres around 0
/// with radii 10 / k, 20 / k, ..., 10, 1 % thick.
class Synthetic {
 public:
  explicit Synthetic(const Recipe& recipe);

  /// Values of one row. out: (columns)
  void row(std::int64_t number, std::span<double> out) const;
  /// Blob or shell of a row, 0 for uniform points.
  std::int32_t label(std::int64_t number) const;

 private:
  /// The row that `number` repeats, or itself.
  std::int64_t original(std::int64_t number) const;

  Recipe recipe_;
  Matrix<double> centers_;  // (k, d) for blobs
};

}  // namespace kith::app
