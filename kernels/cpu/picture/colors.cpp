// Counts the colours of a picture, gives every pixel the label of its colour, and draws it smaller or dithered.
#include "kernels/cpu/picture/colors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

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

Pixel ColorCounts::color(std::int64_t i) const {
  const std::uint64_t key = keys[i];
  return {static_cast<std::uint16_t>(key >> 32), static_cast<std::uint16_t>(key >> 16 & 65535U),
          static_cast<std::uint16_t>(key & 65535U), 65535};
}

void ColorCounts::add(const ColorCounts& other) {
  ColorCounts sum;
  sum.keys.reserve(keys.size() + other.keys.size());
  sum.counts.reserve(keys.size() + other.keys.size());
  for (std::size_t i = 0, j = 0; i < keys.size() || j < other.keys.size();) {
    const bool here = j == other.keys.size() || (i < keys.size() && keys[i] <= other.keys[j]);
    const bool there = i == keys.size() || (j < other.keys.size() && other.keys[j] <= keys[i]);
    sum.keys.push_back(here ? keys[i] : other.keys[j]);
    sum.counts.push_back((here ? counts[i] : 0.0) + (there ? other.counts[j] : 0.0));
    i += here ? 1 : 0;
    j += there ? 1 : 0;
  }
  *this = std::move(sum);
}

std::vector<std::int32_t> labels_of(const ColorCounts& part, const ColorCounts& all,
                                    std::span<const std::int32_t> labels) {
  std::vector<std::int32_t> out;
  out.reserve(part.keys.size());
  std::size_t i = 0;
  for (const std::uint64_t key : part.keys) {
    while (i < all.keys.size() && all.keys[i] < key) ++i;
    out.push_back(i < all.keys.size() && all.keys[i] == key ? labels[i] : -1);
  }
  return out;
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
      colors_.counts.push_back(count);
      visible_ += count;
      count = static_cast<std::int32_t>(colors_.keys.size());
      colors_.keys.push_back((std::uint64_t{red} << 32 | std::uint64_t{green} << 16 | blue) * 257);
    }
    return;
  }
  std::vector<std::uint64_t> all;
  all.reserve(pixels.size());
  for (const Pixel& pixel : pixels) {
    if (pixel.alpha != 0) all.push_back(key_of(pixel));
  }
  visible_ = std::ssize(all);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size();) {
    const std::size_t first = i;
    while (i < all.size() && all[i] == all[first]) ++i;
    colors_.keys.push_back(all[first]);
    colors_.counts.push_back(static_cast<double>(i - first));
  }
}

std::int64_t DistinctColors::index(const Pixel& pixel) const {
  if (!row_of_.empty()) return row_of_[table_key(pixel)];
  return std::lower_bound(colors_.keys.begin(), colors_.keys.end(), key_of(pixel)) - colors_.keys.begin();
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
  std::vector<std::array<float, 3>> own(static_cast<std::size_t>(distinct.size()));
  for_ranges(threads, distinct.size(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Color color = convert(distinct.color(i));
      for (int c = 0; c < 3; ++c) own[i][c] = static_cast<float>(color[c]);
    }
  });
  const std::int64_t n = std::ssize(pixels);
  // One for each range, added in their order, whichever thread made them.
  std::vector<double> sums(static_cast<std::size_t>((n + kTaskPixels - 1) / kTaskPixels));
  for_ranges(threads, n, [&](std::int64_t first, std::int64_t last) {
    double sum = 0.0;
    for (std::int64_t i = first; i < last; ++i) {
      if (labels[i] < 0) continue;
      const std::array<float, 3>& from = own[distinct.index(pixels[i])];
      const Color& to = palette[labels[i]];
      for (int c = 0; c < 3; ++c) sum += (from[c] - to[c]) * (from[c] - to[c]);
    }
    sums[first / kTaskPixels] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(distinct.pixels());
}

}  // namespace kith::cpu
