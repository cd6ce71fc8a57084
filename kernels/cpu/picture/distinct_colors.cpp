// Counts the colours of a picture, and gives every pixel the label of its colour.
#include "kernels/cpu/picture/distinct_colors.h"

#include <algorithm>
#include <atomic>

namespace kith::cpu {
namespace {

constexpr std::int64_t kTablePixels = 1 << 18;  // from here on, a table is faster than sorting
constexpr std::int64_t kTaskPixels = 1 << 16;
constexpr std::size_t kTable = 1 << 24;

std::uint64_t key_of(const Pixel& p) { return std::uint64_t{p.red} << 32 | std::uint64_t{p.green} << 16 | p.blue; }
std::size_t table_key(const Pixel& p) {
  return std::size_t{p.red} >> 8 << 16 | std::size_t{p.green} >> 8 << 8 | std::size_t{p.blue} >> 8;
}

/// Calls work(first, last) for ranges of n pixels.
template <class Work>
void for_ranges(Threads& threads, std::int64_t n, const Work& work) {
  threads.run((n + kTaskPixels - 1) / kTaskPixels,
              [&](std::int64_t task, int) { work(task * kTaskPixels, std::min((task + 1) * kTaskPixels, n)); });
}

}  // namespace

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
    for (std::size_t key = 0; key < kTable; ++key) {
      if (row_of_[key] == 0) continue;
      const std::uint64_t red = key >> 16, green = key >> 8 & 255U, blue = key & 255U;
      counts_.push_back(row_of_[key]);
      visible_ += row_of_[key];
      row_of_[key] = static_cast<std::int32_t>(keys_.size());
      keys_.push_back((red << 32 | green << 16 | blue) * 257);
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
    keys_.push_back(all[first]);
    counts_.push_back(static_cast<double>(i - first));
  }
}

Pixel DistinctColors::color(std::int64_t i) const {
  const std::uint64_t key = keys_[i];
  return {static_cast<std::uint16_t>(key >> 32), static_cast<std::uint16_t>(key >> 16 & 65535U),
          static_cast<std::uint16_t>(key & 65535U), 65535};
}

void DistinctColors::spread(std::span<const std::int32_t> labels, std::span<std::int32_t> out) const {
  for_ranges(threads_, std::ssize(pixels_), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Pixel& pixel = pixels_[i];
      if (pixel.alpha == 0) {
        out[i] = -1;
      } else if (!row_of_.empty()) {
        out[i] = labels[row_of_[table_key(pixel)]];
      } else {
        out[i] = labels[std::lower_bound(keys_.begin(), keys_.end(), key_of(pixel)) - keys_.begin()];
      }
    }
  });
}

}  // namespace kith::cpu
