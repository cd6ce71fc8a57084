// Shared by the limits and the ladders: timing of launches, inputs larger than the cache, and the run of one rung.
#pragma once

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "core/philox.h"
#include "kernels/bench.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// A CUDA event that records the time at its position in a stream.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() {
    const cudaError_t status = cudaEventDestroy(event_);
    if (status != cudaSuccess)
      std::fprintf(stderr, "kith: cuda: %s while destroying an event\n", cudaGetErrorName(status));
  }
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
      : context_(context), request_(request), measurements_(measurements) {}

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

 private:
  Context& context_;
  const BenchRequest& request_;
  std::vector<Measurement>& measurements_;
};

}  // namespace kith::cuda
