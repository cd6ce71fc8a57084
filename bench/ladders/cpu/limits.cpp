// Limits of the processor for `kith bench`: memory bandwidth of all threads, and multiply-adds in registers.
//
// The arrays are larger than any cache; each thread works on its own share, which it touched first. A copy of n bytes
// counts as 2 n bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/ladders/cpu/ladder.h"
#include "bench/measurement.h"
#include "core/points/matrix.h"
#include "core/runtime/clock.h"
#include "core/runtime/threads.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kArrayWords = std::int64_t{1} << 26;  // 512 MiB of 64-bit words
constexpr std::int64_t kRounds = 2'000'000;                  // rounds of multiply-adds per repetition

std::vector<double> timed(int repeat, const std::function<void()>& work) {
  work();
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    const auto begin = Clock::now();
    work();
    seconds.push_back(seconds_since(begin));
  }
  return seconds;
}

/// work(first word, words, thread) on equal shares, one per thread.
template <class Work>
void for_shares(Threads& threads, const Work& work) {
  const std::int64_t share = kArrayWords / threads.count();
  threads.run(threads.count(), [&](std::int64_t task, int thread) { work(task * share, share, thread); });
}

bool is_requested(const BenchRequest& request, const std::string& name) {
  return request.names.empty() || std::find(request.names.begin(), request.names.end(), name) != request.names.end();
}

std::vector<Measurement> memory_limits(const BenchRequest& request, Threads& threads) {
  std::vector<Measurement> result;
  const bool reads = is_requested(request, kReadLimit) || is_requested(request, kCopyLimit);
  const bool writes = is_requested(request, kWriteLimit) || is_requested(request, kCopyLimit);
  Matrix<std::uint64_t> from(reads ? kArrayWords : 0, 1), to(writes ? kArrayWords : 0, 1);
  std::vector<std::uint64_t> sink(64 * threads.count());  // at least a cache line apart; keeps the reads
  for_shares(threads, [&](std::int64_t first, std::int64_t count, int) {
    if (reads) std::fill_n(from.data() + first, count, 1);
    if (writes) std::fill_n(to.data() + first, count, 2);
  });
  const double bytes = static_cast<double>(kArrayWords / threads.count() * threads.count() * 8);
  const auto measure = [&](const char* name, double moved, const std::function<void()>& work) {
    if (!is_requested(request, name)) return;
    request.on_progress(name);
    result.push_back({.name = name, .seconds = timed(request.repeat, work), .work = moved, .unit = WorkUnit::bytes});
  };
  measure(kReadLimit, bytes, [&] {
    for_shares(threads, [&](std::int64_t first, std::int64_t count, int thread) {
      std::uint64_t sum = 0;
      for (std::int64_t i = first; i < first + count; ++i) sum += from.data()[i];
      sink[64 * thread] += sum;
    });
  });
  measure(kWriteLimit, bytes, [&] {
    for_shares(threads, [&](std::int64_t first, std::int64_t count, int) {
      std::memset(to.data() + first, 3, static_cast<std::size_t>(count) * 8);
    });
  });
  measure(kCopyLimit, 2 * bytes, [&] {
    for_shares(threads, [&](std::int64_t first, std::int64_t count, int) {
      std::memcpy(to.data() + first, from.data() + first, static_cast<std::size_t>(count) * 8);
    });
  });
  return result;
}

/// Throughput of the multiply-adds of a screen.
Measurement products(const BenchRequest& request, Threads& threads, const std::string& name,
                     const ScreenKernels& screen) {
  constexpr std::int64_t kStride = 64;  // floats; threads do not share a cache line
  std::vector<float> sink(kStride * threads.count());
  std::vector<double> flops(threads.count());
  const auto work = [&] {
    threads.run(threads.count(),
                [&](std::int64_t task, int) { flops[task] = screen.multiply_adds(kRounds, &sink[kStride * task]); });
  };
  request.on_progress(name);
  Measurement line{.name = name, .seconds = timed(request.repeat, work), .unit = WorkUnit::flops};
  for (const double count : flops) line.work += count;
  return line;
}

std::string name_of_products(const Instructions& set, const ScreenKernels& screen) {
  return fmt::format("multiply-add {} {}", set.name, screen.arithmetic);
}

}  // namespace

std::string product_limit(const ScreenKernels& screen) { return name_of_products(instructions(), screen); }

std::string product_limit() { return product_limit(instructions().low_precision); }

std::vector<Measurement> measure_limits(const BenchRequest& request) {
  Threads threads(request.backend.threads);
  std::vector<Measurement> result = memory_limits(request, threads);
  for (const Instructions* set : instruction_sets()) {
    if (!set->supported()) continue;
    const std::string name = name_of_products(*set, set->low_precision);
    if (!is_requested(request, name)) continue;
    Measurement line = products(request, threads, name, set->low_precision);
    if (set == &instructions()) line.note = "what kith computes with here";
    result.push_back(std::move(line));
  }
  // The same processor's float32, for the rungs that compute in it.
  const ScreenKernels& float32 = instructions().float32;
  const std::string name = product_limit(float32);
  if (!request.names.empty() && name != product_limit() && is_requested(request, name)) {
    result.push_back(products(request, threads, name, float32));
  }
  return result;
}

}  // namespace kith::cpu
