// The measurements of `kith bench`: limits of the machine, and ladders of GPU kernels. Backends measure and check the
// results; the program computes statistics and prints tables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/points/backend.h"

namespace kith {

/// The unit in which the work of a measurement is counted; rates are in units per second.
enum class WorkUnit { none, bytes, flops, operations, rows };

/// One line of a suite.
struct Measurement {
  std::string name{};             // "write", "2 coalesced writes"
  std::string shape{};            // "30336 x 30336"; empty if the name suffices
  std::vector<double> seconds{};  // one per repetition, after warming up; empty: see `missing`
  double work = 0.0;              // of one repetition
  WorkUnit unit = WorkUnit::none;
  std::string limit{};      // name of the limit with which the rate is compared; empty: none
  double limit_work = 0.0;  // of one repetition, in the unit of that limit; 0: same as `work`
  std::string published{};  // the result that the source of this rung states; empty: none
  std::string note{};       // a remark of a few words
  std::string missing{};    // the reason why it was not measured; empty: it was
  std::string wrong{};      // the difference from the definition; empty: the result was checked and is correct
};

/// Sizes of one problem: "1000000x128,1024" means n x d and k.
struct BenchShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> counts{};  // the numbers after the comma: k, or queries and k
};

struct BenchRequest {
  BackendOptions backend{};
  int repeat = 10;                                        // timed repetitions of each line
  std::vector<std::string> names{};                       // limits to measure; empty: all
  std::vector<BenchShape> shapes{};                       // of a ladder; empty: its default shapes
  std::function<void(const std::string&)> on_progress{};  // receives the name of the next line; never empty
};

namespace cpu {
/// Bandwidth of the memory, and multiply-adds of all threads: for each available instruction set, with the type that it
/// multiplies fastest.
std::vector<Measurement> measure_limits(const BenchRequest& request);
/// The name in measure_limits() of the limit of the current instruction set. Throws as instructions() does.
std::string product_limit();
/// The sum of two vectors of n numbers (shape "nx1").
std::vector<Measurement> climb_vector(const BenchRequest& request);
/// Distances of M x N and N x K matrices (shape "MxN,K"): plain loops, vector instructions, all threads.
std::vector<Measurement> climb_distances(const BenchRequest& request);
/// The Sobel magnitude of an 8-bit picture (shape "WIDTHxHEIGHT"). Throws Error(usage) for sizes that it does not
/// support.
std::vector<Measurement> climb_sobel(const BenchRequest& request);
}  // namespace cpu

namespace cuda {
// All throw Error(device) in a build without CUDA, if the device cannot be used, or if its memory does not suffice; the
// ladders throw Error(usage) for a shape that they do not support.

/// Bandwidth of the device's memory and of its link to the host, latency of a launch, rates of matrix products.
std::vector<Measurement> measure_limits(const BenchRequest& request);
/// Distances of M x N and N x K matrices (shape "MxN,K"), from one thread per element to tensor cores.
std::vector<Measurement> climb_distances(const BenchRequest& request);
/// All distances between n points of a plane (shape "nx2").
std::vector<Measurement> climb_plane(const BenchRequest& request);
/// Sums of vectors and matrices, the norm, copies that overlap kernels, atomics, shared-memory banks (shape "nx1").
std::vector<Measurement> climb_vector(const BenchRequest& request);
/// The sum of n numbers (shape "nx1").
std::vector<Measurement> climb_reduce(const BenchRequest& request);
/// n 32-bit integers in ascending order (shape "nx1").
std::vector<Measurement> climb_sort(const BenchRequest& request);
/// The Sobel magnitude of an 8-bit picture (shape "WIDTHxHEIGHT").
std::vector<Measurement> climb_sobel(const BenchRequest& request);
}  // namespace cuda

// Names of limits with which other lines are compared.
inline constexpr const char* kReadLimit = "read";
inline constexpr const char* kWriteLimit = "write";
inline constexpr const char* kCopyLimit = "copy";
inline constexpr const char* kUploadLimit = "host to device";
inline constexpr const char* kSharedLimit = "shared memory";
inline constexpr const char* kInt8Limit = "product int8";
inline constexpr const char* kFp16Limit = "product float16";
inline constexpr const char* kFloatLimit = "product float32";

}  // namespace kith
