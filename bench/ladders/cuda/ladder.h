// Shared by the limits and the ladders: timing of launches, inputs larger than the cache, and the
// run of one rung.
#pragma once

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "bench/ladders/cpu/ladder.h"
#include "bench/measurement.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// A CUDA event that records the time at its position in a stream.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() { report_in_destructor(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream)); }
  operator cudaEvent_t() const { return event_; }  // NOLINT: CUDA's calls take the raw event
  double seconds_since(const Event& before) const {
    check(cudaEventSynchronize(event_));
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, before.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds per launch, one value for each of `repeat` samples after warming up. launch(turn) receives a counter that
/// selects the copy of its input. A sample repeats a short launch until it lasts kSampleSeconds.
template <class Launch>
std::vector<double> time_launches(const Stream& stream, int repeat, const Launch& launch) {
  constexpr double kSampleSeconds = 2e-3;
  constexpr int kMaxLaunches = 1000, kWarmUp = 3;
  Event begin, end;
  std::int64_t turn = 0;
  const auto sample = [&](int launches) {
    begin.record(stream);
    for (int i = 0; i < launches; ++i) launch(turn++);
    check(cudaGetLastError());
    end.record(stream);
    return end.seconds_since(begin) / launches;
  };
  sample(1);
  const double once = std::max(sample(1), 1e-7);
  const int launches = std::clamp(static_cast<int>(kSampleSeconds / once), 1, kMaxLaunches);
  for (int i = 0; i < kWarmUp; ++i) sample(launches);
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) seconds.push_back(sample(launches));
  return seconds;
}

/// Number of copies of an input of `bytes` that together are four times the L2 cache: a launch that rotates through
/// them reads memory.
inline std::int64_t copies_beyond_cache(const Context& context, std::int64_t bytes) {
  int cache = 0;
  check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, context.device));
  return std::max<std::int64_t>((std::int64_t{4} * cache + bytes - 1) / bytes, 1);
}

/// The next multiple of four: the copies of an input begin at multiples of 16 bytes.
inline std::int64_t multiple_of_four(std::int64_t count) { return (count + 3) / 4 * 4; }

/// The arguments as one string. nvcc cannot check fmt's format strings.
template <class... Items>
std::string concat(const Items&... items) {
  std::ostringstream out;
  (out << ... << items);
  return out.str();
}

/// A copy of the vector on the device.
template <class T>
Buffer<T> to_device(Context& context, const std::vector<T>& values) {
  Buffer<T> buffer(context.pool, static_cast<std::int64_t>(values.size()));
  context.stream.upload(buffer.data(), values.data(), buffer.size());
  context.stream.wait();
  return buffer;
}

/// Runs the rungs of one ladder on one problem: each is launched once, checked, and timed only if its result is right.
class Ladder {
 public:
  Ladder(Context& context, const BenchRequest& request, std::vector<Measurement>& measurements)
      : context_(context), request_(request), measurements_(measurements), first_(measurements.size()) {}

  /// line: the measurement without its times. check_answer() runs after the first launch and returns an error message,
  /// or an empty string.
  template <class Launch, class Check>
  void run(Measurement line, const Launch& launch, const Check& check_answer) {
    request_.on_progress(line.name);
    launch(std::int64_t{0});
    check(cudaGetLastError());
    context_.stream.wait();
    line.wrong = check_answer();
    if (line.wrong.empty()) line.seconds = time_launches(context_.stream, request_.repeat, launch);
    measurements_.push_back(std::move(line));
  }
  Measurement& last() { return measurements_.back(); }
  /// Adds a rung that this device cannot run; line.missing gives the reason.
  void skip(Measurement line) { measurements_.push_back(std::move(line)); }
  /// Notes the rates of the rungs since the last call, or since the first rung, as shares of that of the last one.
  void compare_with_last(const std::string& name) {
    const std::vector<double>& bar = last().seconds;
    for (; first_ + 1 < measurements_.size(); ++first_) {
      Measurement& line = measurements_[first_];
      if (bar.empty() || line.seconds.empty()) continue;
      const double share = 100.0 * middle_of(bar) / middle_of(line.seconds);
      line.note += concat(line.note.empty() ? "" : "; ", std::llround(share), " % of ", name);
    }
    ++first_;
  }

 private:
  static double middle_of(std::vector<double> seconds) {
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return seconds[seconds.size() / 2];
  }

  Context& context_;
  const BenchRequest& request_;
  std::vector<Measurement>& measurements_;
  std::size_t first_;  // of the rungs that compare_with_last() has not seen
};

/// The norm of `count` numbers, in integers and by cuBLAS (reduce.cu). The rungs are numbered from `number`.
void climb_norm(Context& context, std::int64_t count, int number, const BenchRequest& request,
                std::vector<Measurement>& measurements);
/// Atomic additions, and reads of shared memory with bank conflicts (contention.cu). The rungs are numbered from
/// `number`.
void climb_contention(Context& context, std::int64_t count, int number, const BenchRequest& request,
                      std::vector<Measurement>& measurements);

}  // namespace kith::cuda
