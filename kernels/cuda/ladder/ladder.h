// What limits and ladders have in common: where they run, how a launch is timed, and inputs that take turns.
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

/// A point in the stream, with its time.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() {
    const cudaError_t status = cudaEventDestroy(event_);
    if (status != cudaSuccess) std::fprintf(stderr, "kith: cuda: %s while ending a timer\n", cudaGetErrorName(status));
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

/// Seconds of launch(turn), `repeat` times after warming up; turn counts up, so that inputs can take turns. What is
/// shorter than a sample is launched several times in each.
template <class Launch>
std::vector<double> timed(const Stream& stream, int repeat, const Launch& launch) {
  constexpr double kSampleSeconds = 2e-3;
  constexpr int kMostLaunches = 1000, kWarmUp = 3;
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
  const int launches = std::clamp(static_cast<int>(kSampleSeconds / once), 1, kMostLaunches);
  for (int i = 0; i < kWarmUp; ++i) sample(launches);
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) seconds.push_back(sample(launches));
  return seconds;
}

/// Copies of an input of `bytes` that together are four times the second-level cache, so that each turn reads memory.
inline std::int64_t turns_beyond_cache(const Context& context, std::int64_t bytes) {
  int cache = 0;
  check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, context.device));
  return std::max<std::int64_t>((std::int64_t{4} * cache + bytes - 1) / bytes, 1);
}

/// Values in [-1, 1), the same for the same seed.
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

/// The parts, one after the other. (nvcc cannot check fmt's format strings.)
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Uploads a vector.
template <class T>
Buffer<T> to_device(Context& context, const std::vector<T>& values) {
  Buffer<T> buffer(context.pool, static_cast<std::int64_t>(values.size()));
  context.stream.upload(buffer.data(), values.data(), buffer.size());
  context.stream.wait();
  return buffer;
}

/// The rungs of one ladder on one problem: each is run once, checked, and timed only when it was right.
class Ladder {
 public:
  Ladder(Context& context, const BenchRequest& request, std::vector<Measurement>& found)
      : context_(context), request_(request), found_(found) {}

  /// `line` is the measurement without its times. check() is called after one launch and returns what is wrong.
  template <class Launch, class Check>
  void climb(Measurement line, const Launch& launch, const Check& check_answer) {
    request_.on_progress(line.name);
    launch(std::int64_t{0});
    check(cudaGetLastError());
    context_.stream.wait();
    line.wrong = check_answer();
    if (line.wrong.empty()) line.seconds = timed(context_.stream, request_.repeat, launch);
    found_.push_back(std::move(line));
  }
  Measurement& last() { return found_.back(); }
  /// A rung that cannot be run here, and says so.
  void leave_out(Measurement line) { found_.push_back(std::move(line)); }

 private:
  Context& context_;
  const BenchRequest& request_;
  std::vector<Measurement>& found_;
};

}  // namespace kith::cuda
