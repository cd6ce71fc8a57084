// What a page shows of a picture with fewer colours: both in a small size, and the error of the colours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/pixel.h"
#include "kernels/cpu/picture/distinct_colors.h"

namespace kith::cpu {

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
