// The Sobel filter and the borders of regions, row by row.
#include "kernels/cpu/picture/edges.h"

#include <algorithm>
#include <cmath>

namespace kith::cpu {
namespace {

constexpr std::int64_t kTaskRows = 32;

template <class Work>
void for_rows(Threads& threads, std::int64_t height, const Work& work) {
  threads.run((height + kTaskRows - 1) / kTaskRows, [&](std::int64_t task, int) {
    for (std::int64_t y = task * kTaskRows; y < std::min((task + 1) * kTaskRows, height); ++y) work(y);
  });
}

inline std::uint8_t magnitude(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
                              std::int64_t left, std::int64_t x, std::int64_t right) {
  const int across = above[right] - above[left] + 2 * (here[right] - here[left]) + below[right] - below[left];
  const int down = below[left] - above[left] + 2 * (below[x] - above[x]) + below[right] - above[right];
  // Below 2^21, so the float is exact, and its root is never rounded up to the next integer.
  return static_cast<std::uint8_t>(
      std::min(255, static_cast<int>(std::sqrt(static_cast<float>(across * across + down * down)))));
}

/// The edges of one row. Its own function, with arguments by value, so that the compiler vectorises the loop.
void sobel_row(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below, std::int64_t last,
               std::uint8_t* __restrict to) {
  to[0] = magnitude(above, here, below, 0, 0, std::min<std::int64_t>(1, last));
  for (std::int64_t x = 1; x < last; ++x) to[x] = magnitude(above, here, below, x - 1, x, x + 1);
  if (last > 0) to[last] = magnitude(above, here, below, last - 1, last, last);
}

}  // namespace

void grey_values(std::span<const Pixel> pixels, std::span<std::uint8_t> out, Threads& threads) {
  for_rows(threads, (std::ssize(pixels) + 4095) / 4096, [&](std::int64_t block) {
    const std::int64_t last = std::min((block + 1) * 4096, std::ssize(pixels));
    for (std::int64_t i = block * 4096; i < last; ++i) {
      const Pixel& p = pixels[i];
      out[i] = static_cast<std::uint8_t>((77 * (p.red >> 8) + 150 * (p.green >> 8) + 29 * (p.blue >> 8) + 128) >> 8);
    }
  });
}

void sobel(std::span<const std::uint8_t> in, PictureSize size, std::span<std::uint8_t> out, Threads& threads) {
  const std::int64_t width = size.width, last = width - 1;
  for_rows(threads, size.height, [&](std::int64_t y) {
    const std::uint8_t* here = in.data() + y * width;
    const std::uint8_t* above = y > 0 ? here - width : here;
    const std::uint8_t* below = y + 1 < size.height ? here + width : here;
    sobel_row(above, here, below, last, out.data() + y * width);
  });
}

std::vector<std::uint8_t> region_borders(std::span<const std::int32_t> labels, PictureSize size, Threads& threads) {
  std::vector<std::uint8_t> out(labels.size());
  for_rows(threads, size.height, [&](std::int64_t y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const std::int64_t i = y * size.width + x;
      const bool right = x + 1 < size.width && labels[i] != labels[i + 1];
      const bool lower = y + 1 < size.height && labels[i] != labels[i + size.width];
      out[i] = right || lower ? 1 : 0;
    }
  });
  return out;
}

}  // namespace kith::cpu
