// The distinct colours of a picture and how many pixels have each, dithering, and what a page shows of a picture with
// fewer colours.
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

/// Colours in ascending order, and the number of pixels of each.
struct ColorCounts {
  std::vector<std::uint64_t> keys;  // red, green, blue, 16 bits each
  std::vector<double> counts;       // (size)

  std::int64_t size() const { return static_cast<std::int64_t>(keys.size()); }
  Pixel color(std::int64_t i) const;
  /// Adds the pixels of another picture.
  void add(const ColorCounts& other);
};

/// The labels of the colours of one picture, from the labels (all.size()) of the colours of several; -1 for a colour
/// that `all` lacks.
std::vector<std::int32_t> labels_of(const ColorCounts& part, const ColorCounts& all,
                                    std::span<const std::int32_t> labels);

class DistinctColors {
 public:
  /// Transparent pixels (alpha 0) are left out. bits: 8 or 16 per channel. `pixels` must outlive the object.
  DistinctColors(std::span<const Pixel> pixels, int bits, Threads& threads);

  const ColorCounts& colors() const { return colors_; }
  std::int64_t size() const { return colors_.size(); }
  std::int64_t pixels() const { return visible_; }  // that are not transparent
  Pixel color(std::int64_t i) const { return colors_.color(i); }
  /// (size) number of pixels of each colour.
  const std::vector<double>& counts() const { return colors_.counts; }
  /// The number of the colour of a pixel that is not transparent.
  std::int64_t index(const Pixel& pixel) const;
  /// out: (n) labels[i] of the colour of each pixel; -1 for transparent ones.
  void spread(std::span<const std::int32_t> labels, std::span<std::int32_t> out) const;

 private:
  std::span<const Pixel> pixels_;
  Threads& threads_;
  std::int64_t visible_ = 0;
  ColorCounts colors_;
  std::vector<std::int32_t> row_of_;  // (2^24) of 8-bit colours, by cells; empty: keys are searched
};

/// Replaces the labels of visible pixels by those of a dithered picture; -1 stays. The nearest colour is that of the
/// smallest squared difference in sRGB, ties: the lowest. pixels, labels: (height x width); palette: (k).
void dither(std::span<const Pixel> pixels, PictureSize size, std::span<const Pixel> palette,
            std::span<std::int32_t> labels);

/// A size of the same shape with at most `most` pixels along each side; the size itself if it is small.
PictureSize shrunk_size(PictureSize size, std::int64_t most);

/// Every pixel of the small picture is the mean of the pixels in its rectangle, weighted by alpha; of sRGB values,
/// which dithering keeps on average. Returns (to.height x to.width x 4) red, green, blue, alpha. pixels: (height x
/// width); `to` is not larger than `size`.
std::vector<std::uint8_t> shrink(std::span<const Pixel> pixels, PictureSize size, PictureSize to, Threads& threads);
/// The same of the picture whose pixels have these colours, and the alpha of `pixels`. labels: (height x width), -1:
/// transparent.
std::vector<std::uint8_t> shrink(std::span<const Pixel> pixels, std::span<const std::int32_t> labels,
                                 std::span<const Pixel> colors, PictureSize size, PictureSize to, Threads& threads);

/// The mean over all visible pixels of the squared distance in CIELAB between a pixel and the colour of its label. The
/// same bits with any number of threads. At least one pixel is visible.
double mean_squared_error(const DistinctColors& distinct, std::span<const Pixel> pixels,
                          std::span<const std::int32_t> labels, std::span<const Pixel> colors, Threads& threads);

}  // namespace kith::cpu
