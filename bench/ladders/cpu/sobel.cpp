// Ladder: the Sobel magnitude of an 8-bit picture on the processor: the definition, one core, all threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/ladders/cpu/ladder.h"
#include "core/error.h"
#include "kernels/cpu/picture/edges.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kSide = 8192, kMaxSide = 65535;  // a texture has at most 65536 rows

/// The definition, with every coordinate limited and every value read where it is needed.
void sobel_by_definition(const std::vector<std::uint8_t>& in, PictureSize size, std::vector<std::uint8_t>& out) {
  const auto value = [&](std::int64_t x, std::int64_t y) {
    const std::int64_t row = std::clamp<std::int64_t>(y, 0, size.height - 1);
    return static_cast<int>(in[row * size.width + std::clamp<std::int64_t>(x, 0, size.width - 1)]);
  };
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      int across = 0, down = 0;
      for (int i = -1; i <= 1; ++i) {
        across += (2 - i * i) * (value(x + 1, y + i) - value(x - 1, y + i));
        down += (2 - i * i) * (value(x + i, y + 1) - value(x + i, y - 1));
      }
      const double root = std::floor(std::sqrt(static_cast<double>(across * across + down * down)));
      out[y * size.width + x] = static_cast<std::uint8_t>(std::min(255.0, root));
    }
  }
}

std::string compare(const std::vector<std::uint8_t>& expected, const std::vector<std::uint8_t>& found,
                    std::int64_t width) {
  const auto [wanted, other] = std::mismatch(expected.begin(), expected.end(), found.begin());
  if (wanted == expected.end()) return "";
  const std::int64_t i = wanted - expected.begin();
  return fmt::format("pixel {}, {}: expected {}, found {}", i % width, i / width, *wanted, *other);
}

}  // namespace

std::vector<BenchShape> sobel_shapes(const BenchRequest& request) {
  if (request.shapes.empty()) return {{.rows = kSide, .columns = kSide}};
  for (const BenchShape& shape : request.shapes) {
    if (shape.rows <= kMaxSide && shape.columns <= kMaxSide) continue;
    throw Error(ExitCode::usage, fmt::format("--shape {}x{}: expected a width and a height of at most {}", shape.rows,
                                             shape.columns, kMaxSide));
  }
  return request.shapes;
}

std::vector<std::uint8_t> bench_picture(PictureSize size) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size.pixels()));
  std::uint32_t state = 20;
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      state = state * 1664525U + 1013904223U;
      const std::uint32_t noise = state >> 24;
      // Noise over the whole range in every fourth square of 64 pixels, little noise on a slope elsewhere.
      const bool rough = ((x >> 6 | y >> 6) & 1) == 0;
      pixels[y * size.width + x] = static_cast<std::uint8_t>(rough ? noise : (3 * x + y) / 4 % 240 + noise / 16);
    }
  }
  return pixels;
}

std::vector<Measurement> climb_sobel(const BenchRequest& request) {
  std::vector<Measurement> measurements;
  Threads one(1), all(request.backend.threads);
  for (const BenchShape& shape : sobel_shapes(request)) {
    const PictureSize size{shape.rows, shape.columns};
    const std::vector<std::uint8_t> in = bench_picture(size);
    std::vector<std::uint8_t> expected(in.size()), out(in.size());
    const auto rung = [&](const char* name, const auto& work) {
      std::fill(out.begin(), out.end(), 0xEE);
      measurements.push_back(measured_rung(request,
                                           {.name = name,
                                            .shape = fmt::format("{} x {}", size.width, size.height),
                                            .work = 2.0 * static_cast<double>(size.pixels()),
                                            .unit = WorkUnit::bytes,
                                            .limit = kCopyLimit},
                                           work, [&] { return compare(expected, out, size.width); }));
    };
    sobel_by_definition(in, size, expected);
    rung("1 definition, one core", [&] { sobel_by_definition(in, size, out); });
    rung("2 rows, one core", [&] { sobel(in, size, out, one); });
    rung("3 rows, all threads", [&] { sobel(in, size, out, all); });
  }
  return measurements;
}

}  // namespace kith::cpu
