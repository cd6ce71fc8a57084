// Ladder: the sum of two vectors on the processor: plain loop, vector instructions, all threads.
#include <fmt/format.h>

#include "bench/ladders/cpu/ladder.h"
#include "core/error.h"
#include "core/points/matrix.h"
#include "core/runtime/threads.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 26;  // 256 MiB for each vector, beyond any cache
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 32;

}  // namespace

std::vector<std::int64_t> vector_lengths(const BenchRequest& request, std::int64_t usual, std::int64_t most) {
  if (request.shapes.empty()) return {usual};
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) {
    if (shape.columns != 1 || shape.rows > most) {
      throw Error(ExitCode::usage,
                  fmt::format("--shape {}x{}: expected Nx1 with N at most {}", shape.rows, shape.columns, most));
    }
    counts.push_back(shape.rows);
  }
  return counts;
}

std::vector<Measurement> climb_vector(const BenchRequest& request) {
  std::vector<Measurement> measurements;
  Threads threads(request.backend.threads);
  const auto add = instructions().add;
  for (const std::int64_t count : vector_lengths(request, kNumbers, kMostNumbers)) {
    Matrix<float> a(count, 1), b(count, 1), out(count, 1);
    // work(first, count of one range): a range for each thread, which touches its own memory first.
    const auto for_ranges = [&](const auto& work) {
      const std::int64_t share = (count + threads.count() - 1) / threads.count();
      threads.run(threads.count(), [&](std::int64_t task, int) {
        const std::int64_t first = std::min(task * share, count);
        work(first, std::min(share, count - first));
      });
    };
    for_ranges([&](std::int64_t first, std::int64_t length) {
      for (std::int64_t i = first; i < first + length; ++i) {
        a.data()[i] = static_cast<float>(i % 1021);
        b.data()[i] = static_cast<float>(i % 509);
        out.data()[i] = 0.0F;
      }
    });
    const auto rung = [&](const char* name, const auto& work) {
      std::fill_n(out.data(), count, -1.0F);
      measurements.push_back(measured_rung(request,
                                           {.name = name,
                                            .shape = fmt::format("{}", count),
                                            .work = 12.0 * static_cast<double>(count),
                                            .unit = WorkUnit::bytes,
                                            .limit = kCopyLimit},
                                           work, [&]() -> std::string {
                                             for (std::int64_t i = 0; i < count; ++i) {
                                               const auto expected = static_cast<float>(i % 1021 + i % 509);
                                               if (out.data()[i] == expected) continue;
                                               return fmt::format("index {}: expected {}, found {}", i, expected,
                                                                  out.data()[i]);
                                             }
                                             return "";
                                           }));
    };
    rung("1 plain loop, one core", [&] { plain_add(a.data(), b.data(), count, out.data()); });
    rung("2 vectors, one core", [&] { add(a.data(), b.data(), count, out.data()); });
    rung("3 vectors, all cores", [&] {
      for_ranges([&](std::int64_t first, std::int64_t length) {
        add(a.data() + first, b.data() + first, length, out.data() + first);
      });
    });
  }
  return measurements;
}

}  // namespace kith::cpu
