// Edges in pictures: the Sobel magnitude, and the borders between regions of equal labels. Integers alone, so the same
// bytes everywhere; one read of the picture and one write.
//
// I. Sobel, G. Feldman: A 3x3 isotropic gradient operator for image processing (1968).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/color.h"
#include "core/runtime/threads.h"

namespace kith::cpu {

/// out: (n) (77 red + 150 green + 29 blue + 128) / 256 of the 8-bit values (ITU-R BT.601).
void grey_values(std::span<const Pixel> pixels, std::span<std::uint8_t> out, Threads& threads);

/// out = min(255, floor(sqrt(x^2 + y^2))) with the gradients x and y of the 3 x 3 neighbourhood (weights 1, 2, 1).
/// Outside the picture, the nearest pixel counts. in, out: (height x width), not the same memory.
void sobel(std::span<const std::uint8_t> in, PictureSize size, std::span<std::uint8_t> out, Threads& threads);

/// Pixels whose right or lower neighbour has another label: 1, else 0. labels: (height x width).
std::vector<std::uint8_t> region_borders(std::span<const std::int32_t> labels, PictureSize size, Threads& threads);

}  // namespace kith::cpu
