// Error diffusion: neighbouring pixels make up for what a pixel's colour of the palette lacks. O(n k), one thread.
//
// R. W. Floyd, L. Steinberg: An adaptive algorithm for spatial greyscale (1976). Rows alternate in direction; errors
// are integers, sixteenths of an 8-bit sRGB value.
#pragma once

#include <cstdint>
#include <span>

#include "core/pixel.h"

namespace kith::cpu {

/// Replaces the labels of visible pixels by those of a dithered picture; -1 stays. The nearest colour is that of the
/// smallest squared difference in sRGB, ties: the lowest. pixels, labels: (height x width); palette: (k).
void dither(std::span<const Pixel> pixels, PictureSize size, std::span<const Pixel> palette,
            std::span<std::int32_t> labels);

}  // namespace kith::cpu
