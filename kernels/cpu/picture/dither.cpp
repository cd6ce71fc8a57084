// Floyd and Steinberg's error diffusion in integers.
#include "kernels/cpu/picture/dither.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace kith::cpu {

void dither(std::span<const Pixel> pixels, PictureSize size, std::span<const Pixel> palette,
            std::span<std::int32_t> labels) {
  using Values = std::array<int, 3>;
  const auto values_of = [](const Pixel& p) { return Values{p.red >> 8, p.green >> 8, p.blue >> 8}; };
  std::vector<Values> colors;
  for (const Pixel& color : palette) colors.push_back(values_of(color));
  // Errors of this row and the next, in sixteenths, with a column at both ends.
  std::vector<Values> here(static_cast<std::size_t>(size.width) + 2), next(here.size());
  for (std::int64_t y = 0; y < size.height; ++y) {
    const std::int64_t step = y % 2 == 0 ? 1 : -1;
    std::fill(next.begin(), next.end(), Values{});
    for (std::int64_t n = 0, x = step > 0 ? 0 : size.width - 1; n < size.width; ++n, x += step) {
      const std::int64_t i = y * size.width + x;
      if (labels[i] < 0) continue;
      Values value = values_of(pixels[i]);
      for (int c = 0; c < 3; ++c) value[c] = std::clamp(value[c] + ((here[x + 1][c] + 8) >> 4), 0, 255);
      int best = 0, nearest = std::numeric_limits<int>::max();
      for (std::size_t k = 0; k < colors.size(); ++k) {
        const int red = value[0] - colors[k][0], green = value[1] - colors[k][1], blue = value[2] - colors[k][2];
        const int distance = red * red + green * green + blue * blue;
        if (distance < nearest) {
          nearest = distance;
          best = static_cast<int>(k);
        }
      }
      labels[i] = best;
      for (int c = 0; c < 3; ++c) {
        const int error = value[c] - colors[best][c];
        here[x + 1 + step][c] += 7 * error;
        next[x + 1 - step][c] += 3 * error;
        next[x + 1][c] += 5 * error;
        next[x + 1 + step][c] += error;
      }
    }
    std::swap(here, next);
  }
}

}  // namespace kith::cpu
