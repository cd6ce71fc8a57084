// What `kith bench` asks of the machine itself: its limits, and the ladders of kernels that run on a graphics card. The
// rooms measure and check; statistics and tables are the program's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/backend.h"

namespace kith {

/// What the work of a measurement is counted in; rates are in units per second.
enum class WorkUnit { none, bytes, flops, rows };

/// One line of a suite.
struct Measurement {
  std::string name{};             // "write", "2 coalesced writes"
  std::string shape{};            // "30336 x 30336", empty where the name says it all
  std::vector<double> seconds{};  // one per repetition, after warming up; empty when `missing` says why
  double work = 0.0;              // of one repetition
  WorkUnit unit = WorkUnit::none;
  std::string limit{};      // name of the limit that the rate is held against, empty: none
  double limit_work = 0.0;  // of one repetition in the units of that limit; 0: `work`
  std::string published{};  // what the text says that this rung comes from, empty: nothing
  std::string note{};       // what else there is to know, in a few words
  std::string missing{};    // why it was not measured
  std::string wrong{};      // what differed from the definition; empty: it was checked and is right
};

/// Sizes of one problem: "1000000x128,1024" is n x d and k.
struct BenchShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> counts{};  // what follows the comma: k, or queries and k
};

struct BenchRequest {
  BackendOptions backend{};
  int repeat = 10;                                        // timed repetitions of each line
  std::vector<std::string> names{};                       // the limits that are wanted; empty: all
  std::vector<BenchShape> shapes{};                       // of a ladder; empty: its own
  std::function<void(const std::string&)> on_progress{};  // called with the name of what is measured next; never empty
};

namespace cpu {
/// Bandwidth of the memory and multiply-adds of all threads, for each instruction set that runs here in what it
/// multiplies fastest.
std::vector<Measurement> measure_limits(const BenchRequest& request);
/// The name of the limit of the set in use, in measure_limits(). Throws as instructions() does.
std::string product_limit();
}  // namespace cpu

namespace cuda {
// All throw Error(device) in a build without CUDA, when the device cannot be used, or when its memory does not suffice;
// the ladders throw Error(usage) for a shape that they cannot take.

/// Bandwidth of the device's memory and of its link to the host, latency of a launch, rates of matrix products.
std::vector<Measurement> measure_limits(const BenchRequest& request);
/// Distances of M x N and N x K matrices (shape "MxN,K"), from one thread per element to tensor cores.
std::vector<Measurement> climb_distances(const BenchRequest& request);
/// All distances of n points of a plane (shape "nx2").
std::vector<Measurement> climb_plane(const BenchRequest& request);
/// The sum of n numbers (shape "nx1").
std::vector<Measurement> climb_reduce(const BenchRequest& request);
/// n 32-bit integers in ascending order (shape "nx1").
std::vector<Measurement> climb_sort(const BenchRequest& request);
}  // namespace cuda

// Names of limits that others are held against.
inline constexpr const char* kReadLimit = "read";
inline constexpr const char* kWriteLimit = "write";
inline constexpr const char* kCopyLimit = "copy";
inline constexpr const char* kFp16Limit = "product float16";
inline constexpr const char* kFloatLimit = "product float32";

}  // namespace kith
