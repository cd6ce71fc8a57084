// Counts the colours of a picture, gives every pixel the label of its colour, and dithers it.
#include "kernels/cpu/picture/colors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>

namespace kith::cpu {
namespace {

constexpr std::int64_t kTablePixels = 1 << 18;  // from here on, a table is faster than sorting
constexpr std::int64_t kTaskPixels = 1 << 16;
constexpr std::size_t kTable = 1 << 24;

std::uint64_t key_of(const Pixel& p) { return std::uint64_t{p.red} << 32 | std::uint64_t{p.green} << 16 | p.blue; }

/// The place of an 8-bit colour in the table. Cells of 16 x 16 x 16 colours are contiguous, so that the colours of one
/// region of a picture, which differ a little in all channels, share a few kilobytes and stay in the cache.
std::size_t table_key(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
  return (red >> 4) << 20 | (green >> 4) << 16 | (blue >> 4) << 12 | (red & 15U) << 8 | (green & 15U) << 4 |
         (blue & 15U);
}
std::size_t table_key(const Pixel& p) {
  return table_key(std::uint32_t{p.red} >> 8, std::uint32_t{p.green} >> 8, std::uint32_t{p.blue} >> 8);
}

/// Calls work(first, last) for ranges of n pixels.
template <class Work>
void for_ranges(Threads& threads, std::int64_t n, const Work& work) {
  threads.run((n + kTaskPixels - 1) / kTaskPixels,
              [&](std::int64_t task, int) { work(task * kTaskPixels, std::min((task + 1) * kTaskPixels, n)); });
}

}  // namespace

Pixel DistinctColors::color(std::int64_t i) const {
  const std::uint64_t key = keys_[i];
  return {static_cast<std::uint16_t>(key >> 32), static_cast<std::uint16_t>(key >> 16 & 65535U),
          static_cast<std::uint16_t>(key & 65535U), 65535};
}

DistinctColors::DistinctColors(std::span<const Pixel> pixels, int bits, Threads& threads)
    : pixels_(pixels), threads_(threads) {
  const std::int64_t n = std::ssize(pixels);
  if (bits == 8 && n >= kTablePixels) {
    row_of_.resize(kTable);
    for_ranges(threads, n, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last;) {  // runs of equal pixels are added at once
        const Pixel& pixel = pixels[i];
        std::int32_t run = 0;
        for (; i < last && pixels[i] == pixel; ++i) ++run;
        if (pixel.alpha != 0) {
          std::atomic_ref<std::int32_t>(row_of_[table_key(pixel)]).fetch_add(run, std::memory_order_relaxed);
        }
      }
    });
    for (std::uint32_t key = 0; key < kTable; ++key) {
      const std::uint32_t red = key >> 16, green = key >> 8 & 255U, blue = key & 255U;
      std::int32_t& count = row_of_[table_key(red, green, blue)];
      if (count == 0) continue;
      counts_.push_back(count);
      count = static_cast<std::int32_t>(keys_.size());
      keys_.push_back((std::uint64_t{red} << 32 | std::uint64_t{green} << 16 | blue) * 257);
    }
    return;
  }
  std::vector<std::uint64_t> all;
  all.reserve(pixels.size());
  for (const Pixel& pixel : pixels) {
    if (pixel.alpha != 0) all.push_back(key_of(pixel));
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size();) {
    const std::size_t first = i;
    while (i < all.size() && all[i] == all[first]) ++i;
    keys_.push_back(all[first]);
    counts_.push_back(static_cast<double>(i - first));
  }
}

std::int64_t DistinctColors::index(const Pixel& pixel) const {
  if (!row_of_.empty()) return row_of_[table_key(pixel)];
  return std::lower_bound(keys_.begin(), keys_.end(), key_of(pixel)) - keys_.begin();
}

void DistinctColors::spread(std::span<const std::int32_t> labels, std::span<std::int32_t> out) const {
  const std::int64_t n = std::ssize(pixels_);
  if (row_of_.empty()) {
    for_ranges(threads_, n, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        out[i] = pixels_[i].alpha == 0 ? -1 : labels[index(pixels_[i])];
      }
    });
    return;
  }
  // A table of labels in the order of the cells: one access for each pixel, close to those of its neighbours.
  const auto label_of = std::make_unique_for_overwrite<std::int32_t[]>(kTable);
  for_ranges(threads_, size(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) label_of[table_key(color(i))] = labels[i];
  });
  for_ranges(threads_, n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Pixel& pixel = pixels_[i];
      out[i] = pixel.alpha == 0 ? -1 : label_of[table_key(pixel)];
    }
  });
}

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
