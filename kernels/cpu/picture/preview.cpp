// Means over rectangles of pixels, and sums of squared differences in CIELAB.
#include "kernels/cpu/picture/preview.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/color_space.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kTaskPixels = 1 << 16;

/// pixel(i): the i-th pixel of the large picture.
template <class PixelAt>
std::vector<std::uint8_t> shrink_each(PictureSize size, PictureSize to, Threads& threads, const PixelAt& pixel) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(to.pixels()) * 4);
  threads.run(to.height, [&](std::int64_t y, int) {
    const std::int64_t first_row = y * size.height / to.height, last_row = (y + 1) * size.height / to.height;
    for (std::int64_t x = 0; x < to.width; ++x) {
      const std::int64_t first = x * size.width / to.width, last = (x + 1) * size.width / to.width;
      std::array<double, 4> sums{};
      for (std::int64_t row = first_row; row < last_row; ++row) {
        for (std::int64_t column = first; column < last; ++column) {
          const Pixel p = pixel(row * size.width + column);
          const double alpha = p.alpha;
          sums[0] += alpha * p.red;
          sums[1] += alpha * p.green;
          sums[2] += alpha * p.blue;
          sums[3] += alpha;
        }
      }
      std::uint8_t* to_pixel = out.data() + (y * to.width + x) * 4;
      const double area = static_cast<double>((last_row - first_row) * (last - first));
      for (int c = 0; c < 3; ++c) {
        to_pixel[c] = sums[3] > 0.0 ? static_cast<std::uint8_t>(sums[c] / sums[3] / 257.0 + 0.5) : 0;
      }
      to_pixel[3] = static_cast<std::uint8_t>(sums[3] / area / 257.0 + 0.5);
    }
  });
  return out;
}

}  // namespace

PictureSize shrunk_size(PictureSize size, std::int64_t most) {
  const std::int64_t longer = std::max(size.width, size.height);
  if (longer <= most) return size;
  return {std::max<std::int64_t>(size.width * most / longer, 1),
          std::max<std::int64_t>(size.height * most / longer, 1)};
}

std::vector<std::uint8_t> shrink(std::span<const Pixel> pixels, PictureSize size, PictureSize to, Threads& threads) {
  return shrink_each(size, to, threads, [&](std::int64_t i) { return pixels[i]; });
}

std::vector<std::uint8_t> shrink(std::span<const Pixel> pixels, std::span<const std::int32_t> labels,
                                 std::span<const Pixel> colors, PictureSize size, PictureSize to, Threads& threads) {
  return shrink_each(size, to, threads, [&](std::int64_t i) {
    if (labels[i] < 0) return Pixel{0, 0, 0, 0};
    Pixel pixel = colors[labels[i]];
    pixel.alpha = pixels[i].alpha;
    return pixel;
  });
}

double mean_squared_error(const DistinctColors& distinct, std::span<const Pixel> pixels,
                          std::span<const std::int32_t> labels, std::span<const Pixel> colors, Threads& threads) {
  const ColorConverter convert(ColorSpace::lab);
  std::vector<Color> palette;
  palette.reserve(colors.size());
  for (const Pixel& color : colors) palette.push_back(convert(color));
  const auto tasks_of = [](std::int64_t n) { return (n + kTaskPixels - 1) / kTaskPixels; };
  std::vector<std::array<float, 3>> own(static_cast<std::size_t>(distinct.size()));
  threads.run(tasks_of(distinct.size()), [&](std::int64_t task, int) {
    for (std::int64_t i = task * kTaskPixels; i < std::min((task + 1) * kTaskPixels, distinct.size()); ++i) {
      const Color color = convert(distinct.color(i));
      for (int c = 0; c < 3; ++c) own[i][c] = static_cast<float>(color[c]);
    }
  });
  const std::int64_t n = std::ssize(pixels);
  std::vector<double> sums(static_cast<std::size_t>(tasks_of(n)));  // added in their order, whichever thread made them
  threads.run(tasks_of(n), [&](std::int64_t task, int) {
    double sum = 0.0;
    for (std::int64_t i = task * kTaskPixels; i < std::min((task + 1) * kTaskPixels, n); ++i) {
      if (labels[i] < 0) continue;
      const std::array<float, 3>& from = own[distinct.index(pixels[i])];
      const Color& to = palette[labels[i]];
      for (int c = 0; c < 3; ++c) sum += (from[c] - to[c]) * (from[c] - to[c]);
    }
    sums[task] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(distinct.pixels());
}

}  // namespace kith::cpu
