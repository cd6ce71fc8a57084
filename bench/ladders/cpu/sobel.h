// What the Sobel ladders of both backends share: the shapes that they accept, and the picture.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measurement.h"
#include "core/numbers/color.h"

namespace kith::cpu {

/// The shapes of the request as width x height, or 8192 x 8192. Throws Error(usage) above 65535 on either side.
std::vector<BenchShape> sobel_shapes(const BenchRequest& request);

/// Random pixels on a slope of brightness, (height x width): gradients of all sizes.
std::vector<std::uint8_t> bench_picture(PictureSize size);

}  // namespace kith::cpu
