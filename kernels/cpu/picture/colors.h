// The distinct colours of a picture and how many pixels have each, and dithering.
//
// k-means of the colours, as weighted rows, is that of all pixels (docs/contract.md, Weights). One pass over the pixels
// to count, one to label; 8-bit colours are counted in a table of 2^24 entries, others are sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/color.h"
#include "core/runtime/threads.h"

namespace kith::cpu {

/// In ascending order.
class DistinctColors {
 public:
  /// Transparent pixels (alpha 0) are left out. bits: 8 or 16 per channel. `pixels` must outlive the object.
  DistinctColors(std::span<const Pixel> pixels, int bits, Threads& threads);

  std::int64_t size() const { return std::ssize(keys_); }
  Pixel color(std::int64_t i) const;
  /// (size) number of pixels of each colour.
  const std::vector<double>& counts() const { return counts_; }
  /// The number of the colour of a pixel that is not transparent.
  std::int64_t index(const Pixel& pixel) const;
  /// out: (n) labels[i] of the colour of each pixel; -1 for transparent ones.
  void spread(std::span<const std::int32_t> labels, std::span<std::int32_t> out) const;

 private:
  std::span<const Pixel> pixels_;
  Threads& threads_;
  std::vector<std::uint64_t> keys_;   // (size) red, green, blue, 16 bits each
  std::vector<double> counts_;        // (size)
  std::vector<std::int32_t> row_of_;  // (2^24) of 8-bit colours, by cells; empty: keys are searched
};

/// Replaces the labels of visible pixels by those of a dithered picture; -1 stays. The nearest colour is that of the
/// smallest squared difference in sRGB, ties: the lowest. pixels, labels: (height x width); palette: (k).
void dither(std::span<const Pixel> pixels, PictureSize size, std::span<const Pixel> palette,
            std::span<std::int32_t> labels);

}  // namespace kith::cpu
