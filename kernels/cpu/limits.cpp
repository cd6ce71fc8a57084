// Limits of the processor: what the memory gives to all threads, and multiply-adds in registers.
//
// The arrays are larger than any cache; each thread walks its own share, which it touched first. Bytes are counted as
// they are named: a copy moves twice its size.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/matrix.h"
#include "kernels/bench.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kArrayWords = std::int64_t{1} << 26;  // 512 MiB of 64-bit words
constexpr std::int64_t kRounds = 2'000'000;                  // of multiply-adds in one repetition

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<double> timed(int repeat, const std::function<void()>& work) {
  work();
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) seconds.push_back(seconds_of(work));
  return seconds;
}

/// work(first word, words, thread) on equal shares, one per thread.
template <class Work>
void for_shares(Threads& threads, const Work& work) {
  const std::int64_t share = kArrayWords / threads.count();
  threads.run(threads.count(), [&](std::int64_t task, int thread) { work(task * share, share, thread); });
}

bool wanted(const BenchRequest& request, const std::string& name) {
  return request.names.empty() || std::find(request.names.begin(), request.names.end(), name) != request.names.end();
}

std::vector<Measurement> memory_limits(const BenchRequest& request, Threads& threads) {
  std::vector<Measurement> found;
  if (!wanted(request, kReadLimit) && !wanted(request, kWriteLimit) && !wanted(request, kCopyLimit)) return found;
  Matrix<std::uint64_t> from(kArrayWords, 1), to(kArrayWords, 1);
  std::vector<std::uint64_t> seen(64 * threads.count());  // a cache line or more apart, so that nothing is left out
  for_shares(threads, [&](std::int64_t first, std::int64_t count, int) {
    std::fill_n(from.data() + first, count, 1);
    std::fill_n(to.data() + first, count, 2);
  });
  const double bytes = static_cast<double>(kArrayWords / threads.count() * threads.count() * 8);
  const auto measure = [&](const char* name, double moved, const std::function<void()>& work) {
    if (!wanted(request, name)) return;
    request.on_progress(name);
    found.push_back({.name = name, .seconds = timed(request.repeat, work), .work = moved, .unit = WorkUnit::bytes});
  };
  measure(kReadLimit, bytes, [&] {
    for_shares(threads, [&](std::int64_t first, std::int64_t count, int thread) {
      std::uint64_t sum = 0;
      for (std::int64_t i = first; i < first + count; ++i) sum += from.data()[i];
      seen[64 * thread] += sum;
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
  return found;
}

/// What one screen of a set multiplies with.
Measurement products(const BenchRequest& request, Threads& threads, const std::string& name,
                     const ScreenKernels& screen) {
  constexpr std::int64_t kApart = 64;  // floats, so that threads do not share a cache line
  std::vector<float> seen(kApart * threads.count());
  std::vector<double> flops(threads.count());
  const auto work = [&] {
    threads.run(threads.count(),
                [&](std::int64_t task, int) { flops[task] = screen.multiply_adds(kRounds, &seen[kApart * task]); });
  };
  request.on_progress(name);
  Measurement line{.name = name, .seconds = timed(request.repeat, work), .unit = WorkUnit::flops};
  for (const double each : flops) line.work += each;
  return line;
}

std::string name_of_products(const Instructions& set) {
  return fmt::format("multiply-add {} {}", set.name, set.coarse.unit);
}

}  // namespace

std::string product_limit() { return name_of_products(instructions()); }

std::vector<Measurement> measure_limits(const BenchRequest& request) {
  Threads threads(request.backend.threads);
  std::vector<Measurement> found = memory_limits(request, threads);
  for (const Instructions* set : instruction_sets()) {
    if (!set->supported()) continue;
    const std::string name = name_of_products(*set);
    if (!wanted(request, name)) continue;
    Measurement line = products(request, threads, name, set->coarse);
    if (set == &instructions()) line.note = "what kith computes with here";
    found.push_back(std::move(line));
  }
  return found;
}

}  // namespace kith::cpu
