// What the ladders of both backends share: inputs, shapes, and the run of one rung on the processor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/measurement.h"
#include "core/numbers/color.h"
#include "core/numbers/philox.h"
#include "core/runtime/clock.h"

namespace kith::cpu {

struct ScreenKernels;

/// The name in measure_limits() of the limit of the current instruction set with this screen. Throws as
/// instructions() does.
std::string product_limit(const ScreenKernels& screen);

/// Values in [-1, 1), determined by the seed.
inline std::vector<float> uniform_values(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; i += 4) {
    const auto words = philox(seed, 0, static_cast<std::uint64_t>(i / 4));
    for (std::int64_t l = 0; l < std::min<std::int64_t>(4, count - i); ++l) {
      values[i + l] = static_cast<float>(static_cast<std::int32_t>(words[l]) >> 8) * 0x1p-23F;
    }
  }
  return values;
}

/// The shapes "MxN,K" of the request, or those of the published table: 128 to 4096 on every side. Throws Error(usage)
/// for sizes that are not multiples of `multiple` or above 65536.
std::vector<BenchShape> distance_shapes(const BenchRequest& request, std::int64_t multiple);

/// The shapes "Nx1" of the request, or `usual`. Throws Error(usage) for more columns, or for more than `most` rows.
std::vector<std::int64_t> vector_lengths(const BenchRequest& request, std::int64_t usual, std::int64_t most);

/// The shapes of the request as width x height, or 8192 x 8192. Throws Error(usage) above 65535 on either side.
std::vector<BenchShape> sobel_shapes(const BenchRequest& request);

/// Random pixels on a slope of brightness, (height x width): gradients of all sizes.
std::vector<std::uint8_t> bench_picture(PictureSize size);

/// Runs `work` and checks its result; check_answer() returns an error message, or an empty string. Then times it until
/// all repetitions are done or have taken kMostSeconds. A first run that lasts longer than that is the only one.
template <class Work, class Check>
Measurement measured_rung(const BenchRequest& request, Measurement line, const Work& work, const Check& check_answer) {
  constexpr double kMostSeconds = 2.0;
  request.on_progress(line.name);
  const auto run = [&work] {
    const auto begin = Clock::now();
    work();
    return seconds_since(begin);
  };
  const double first = run();
  line.wrong = check_answer();
  if (!line.wrong.empty()) return line;
  if (first > kMostSeconds) {
    line.seconds.push_back(first);
    return line;
  }
  double spent = 0.0;
  for (int i = 0; i < request.repeat && spent < kMostSeconds; ++i) {
    line.seconds.push_back(run());
    spent += line.seconds.back();
  }
  return line;
}

// Loops that the compiler may not vectorise (plain.cpp).
void plain_add(const float* a, const float* b, std::int64_t count, float* out);
/// out (rows, columns): squared distances of the rows of a (rows, depth) to the columns of b (depth, columns).
void plain_distances(const float* a, const float* b, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                     float* out);

}  // namespace kith::cpu
