// Colours, edges and distinct colours of pictures, beside their definitions.
#include <cmath>
#include <map>
#include <tuple>

#include "core/numbers/color.h"
#include "kernels/cpu/picture/colors.h"
#include "kernels/cpu/picture/edges.h"
#include "tests/support/catch.h"

using namespace kith;

namespace {

Pixel byte_pixel(int red, int green, int blue) {
  const auto wide = [](int v) { return static_cast<std::uint16_t>(v * 257); };
  return {wide(red), wide(green), wide(blue), 65535};
}

/// Pixels of few colours, some of them transparent.
std::vector<Pixel> some_pixels(std::int64_t n, int colors) {
  std::vector<Pixel> out;
  std::uint32_t state = 7;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    const int c = static_cast<int>((state >> 16) % colors);
    out.push_back(byte_pixel(c % 256, c * 7 % 256, c * 31 % 256));
    if (state >> 28 == 3) out.back().alpha = 0;
  }
  return out;
}

}  // namespace

TEST_CASE("CIELAB is that of published tables") {
  // B. Lindbloom's calculator (brucelindbloom.com), sRGB and D65.
  const std::tuple<Pixel, double, double, double> pairs[] = {{byte_pixel(255, 0, 0), 53.2408, 80.0925, 67.2032},
                                                             {byte_pixel(0, 255, 0), 87.7347, -86.1827, 83.1793},
                                                             {byte_pixel(0, 0, 255), 32.2970, 79.1875, -107.8602},
                                                             {byte_pixel(255, 255, 255), 100.0, 0.0, 0.0},
                                                             {byte_pixel(0, 0, 0), 0.0, 0.0, 0.0},
                                                             {byte_pixel(119, 119, 119), 50.0344, 0.0, 0.0}};
  const ColorConverter lab(ColorSpace::lab);
  for (const auto& [pixel, l, a, b] : pairs) {
    const Color color = lab(pixel);
    INFO(l << " " << a << " " << b << " beside " << color[0] << " " << color[1] << " " << color[2]);
    CHECK(std::abs(color[0] - l) < 0.005);
    CHECK(std::abs(color[1] - a) < 0.02);
    CHECK(std::abs(color[2] - b) < 0.02);
  }
  const ColorConverter linear(ColorSpace::linear);
  for (int v = 0; v < 256; ++v) {
    const double s = v / 255.0, light = s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
    CHECK(std::abs(linear(byte_pixel(v, 0, 0))[0] - light) < 1e-14);
  }
}

TEST_CASE("colours come back from every space") {
  for (const ColorSpace space : {ColorSpace::lab, ColorSpace::linear, ColorSpace::srgb}) {
    const ColorConverter convert(space);
    bool same = true;
    for (int c = 0; c < 1 << 12; ++c) {
      const Pixel pixel = byte_pixel((c >> 8) * 17, (c >> 4 & 15) * 17, (c & 15) * 17);
      same = same && to_pixel(convert(pixel), space) == pixel;
    }
    CHECK(same);
  }
}

TEST_CASE("the Sobel filter is its definition for every size") {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 2}, {31, 33}, {8, 64}, {257, 3}}) {
    std::vector<std::uint8_t> in(static_cast<std::size_t>(width * height)), out(in.size());
    std::uint32_t state = 5;
    for (std::uint8_t& v : in) v = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
    Threads threads(2);
    cpu::sobel(in, {width, height}, out, threads);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        long gx = 0, gy = 0;
        for (int v = -1; v <= 1; ++v) {
          for (int u = -1; u <= 1; ++u) {
            const int column = std::clamp(x + u, 0, width - 1), row = std::clamp(y + v, 0, height - 1);
            gx += u * (2 - std::abs(v)) * in[row * width + column];
            gy += v * (2 - std::abs(u)) * in[row * width + column];
          }
        }
        long root = 0;
        while ((root + 1) * (root + 1) <= gx * gx + gy * gy) ++root;
        INFO(width << " x " << height << " at " << x << ", " << y);
        CHECK(static_cast<long>(out[y * width + x]) == std::min(255L, root));
      }
    }
  }
}

TEST_CASE("distinct colours are counted with and without the table") {
  Threads threads(2);
  for (const std::int64_t n : {1000, 300'000}) {
    const std::vector<Pixel> pixels = some_pixels(n, 999);
    std::map<std::tuple<int, int, int>, double> counts;
    for (const Pixel& p : pixels) {
      if (p.alpha != 0) ++counts[{p.red, p.green, p.blue}];
    }
    for (const int bits : {8, 16}) {
      const cpu::DistinctColors distinct(pixels, bits, threads);
      REQUIRE(distinct.size() == static_cast<std::int64_t>(counts.size()));
      std::vector<std::int32_t> numbers(counts.size()), out(pixels.size());
      std::int64_t i = 0;
      for (const auto& [color, count] : counts) {
        const Pixel p = distinct.color(i);
        CHECK(std::tuple<int, int, int>{p.red, p.green, p.blue} == color);
        CHECK(distinct.counts()[i] == count);
        numbers[i] = static_cast<std::int32_t>(i);
        ++i;
      }
      distinct.spread(numbers, out);
      bool right = true;
      for (std::size_t p = 0; p < pixels.size(); ++p) {
        right = right && (pixels[p].alpha == 0 ? out[p] == -1 : distinct.color(out[p]) == pixels[p]);
      }
      CHECK(right);
    }
  }
}

TEST_CASE("colours of several pictures are those of all their pixels") {
  Threads threads(2);
  const std::vector<Pixel> first = some_pixels(1000, 70), second = some_pixels(300'000, 999);
  std::vector<Pixel> both = first;
  both.insert(both.end(), second.begin(), second.end());
  const cpu::DistinctColors one(first, 8, threads), other(second, 8, threads), all(both, 8, threads);
  cpu::ColorCounts sum;
  sum.add(one.colors());
  sum.add(other.colors());
  CHECK(sum.keys == all.colors().keys);
  CHECK(sum.counts == all.counts());
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(sum.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  const std::vector<std::int32_t> own = cpu::labels_of(one.colors(), sum, numbers);
  for (std::int64_t i = 0; i < one.size(); ++i) CHECK(sum.color(own[i]) == one.color(i));
  CHECK(cpu::labels_of(other.colors(), one.colors(), own)[0] == own[0]);
  CHECK(cpu::labels_of(other.colors(), one.colors(), own).back() == -1);
}

TEST_CASE("small pictures hold means, and errors are those of the definition") {
  Threads threads(2);
  for (const auto& [width, height] : {std::pair{700, 500}, {3, 900}, {20, 10}}) {
    std::vector<Pixel> pixels = some_pixels(std::int64_t{width} * height, 300);
    const PictureSize size{width, height}, small = cpu::shrunk_size(size, 64);
    CHECK(std::max(small.width, small.height) == std::min(64, std::max(width, height)));
    const std::vector<std::uint8_t> out = cpu::shrink(pixels, size, small, threads);
    for (std::int64_t y = 0; y < small.height; ++y) {
      for (std::int64_t x = 0; x < small.width; ++x) {
        double red = 0.0, visible = 0.0, all = 0.0;
        for (std::int64_t row = y * height / small.height; row < (y + 1) * height / small.height; ++row) {
          for (std::int64_t column = x * width / small.width; column < (x + 1) * width / small.width; ++column) {
            const Pixel& p = pixels[row * width + column];
            red += p.alpha == 0 ? 0.0 : p.red / 257.0;
            visible += p.alpha == 0 ? 0.0 : 1.0;
            all += 1.0;
          }
        }
        const std::uint8_t* pixel = &out[(y * small.width + x) * 4];
        CHECK(std::abs(pixel[3] - 255.0 * visible / all) < 0.51);
        if (visible > 0.0) CHECK(std::abs(pixel[0] - red / visible) < 0.51);
      }
    }
    const std::vector<Pixel> palette{byte_pixel(10, 20, 30), byte_pixel(200, 180, 90)};
    std::vector<std::int32_t> labels(pixels.size());
    const ColorConverter lab(ColorSpace::lab);
    double sum = 0.0, visible = 0.0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      labels[i] = pixels[i].alpha == 0 ? -1 : static_cast<std::int32_t>(i % 2);
      if (labels[i] < 0) continue;
      const Color from = lab(pixels[i]), to = lab(palette[labels[i]]);
      for (int c = 0; c < 3; ++c) sum += (from[c] - to[c]) * (from[c] - to[c]);
      visible += 1.0;
    }
    const cpu::DistinctColors distinct(pixels, 8, threads);
    const double error = cpu::mean_squared_error(distinct, pixels, labels, palette, threads);
    CHECK(std::abs(error - sum / visible) < 1e-5 * sum / visible);
    Threads one(1);
    CHECK(cpu::mean_squared_error(distinct, pixels, labels, palette, one) == error);
  }
}

TEST_CASE("dithering keeps the mean of an area") {
  const std::vector<Pixel> pixels(64 * 64, byte_pixel(64, 64, 64)),
      palette{byte_pixel(0, 0, 0), byte_pixel(255, 255, 255)};
  std::vector<std::int32_t> labels(pixels.size());
  labels[5] = -1;
  cpu::dither(pixels, {64, 64}, palette, labels);
  CHECK(labels[5] == -1);
  double white = 0;
  for (const std::int32_t label : labels) white += label == 1 ? 1 : 0;
  CHECK(std::abs(white / 4096.0 - 64.0 / 255.0) < 0.02);
}
