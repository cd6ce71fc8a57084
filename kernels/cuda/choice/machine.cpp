// The rates of a device are computed from what the driver reports about it, so that a device that nobody has tuned for
// gets its own: clocks, width of the memory bus, number of multiprocessors, and what a multiprocessor computes in a
// clock, which follows from the compute capability (CUDA C++ Programming Guide, throughput of arithmetic instructions;
// white papers of the architectures for tensor cores).
#include "kernels/cuda/choice/machine.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>

#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {
namespace {

/// Operations of a multiprocessor in a clock, on devices of a compute capability of at least `capability`.
struct Throughput {
  int capability = 0;  // 10 * major + minor
  double mma = 0.0;    // multiply-adds of fp16 by mma instructions; 0: kith has no such products for the device
  double wgmma = 0.0;  // the same by wgmma instructions
  double int8 = 0.0;   // multiply-adds
  double float32 = 0.0;
  double float64 = 0.0;
};

constexpr std::array<Throughput, 8> kThroughputs{{
    // the latest first
    {120, 512, 0, 1024, 128, 2},
    {100, 1024, 0, 2048, 128, 64},
    {90, 1024, 2048, 2048, 128, 64},
    {86, 512, 0, 1024, 128, 2},  // and 8.9
    {80, 1024, 0, 2048, 64, 32},
    {75, 0, 0, 0, 64, 2},
    {70, 0, 0, 0, 64, 32},
    {0, 0, 0, 0, 128, 4},
}};

/// Share of the rates above that kernels reach: on an H200, cuBLAS reaches 0.71 in fp16 and 0.75 in float32, and copies
/// 0.83 (docs/performance.md). Gathering rows of a few hundred bytes reaches the same share of the rate of copying.
constexpr double kReached = 0.75;
/// Bytes per second of a link of PCIe 5 with 16 lanes, measured on several hosts (docs/scale.md). The driver reports
/// nothing about the link.
constexpr double kLink = 50e9;
/// Bytes per second of memory whose clock the driver does not report, as that of integrated devices.
constexpr double kUnknownMemory = 200e9;
/// Operations in float64 for a column of a definition: a subtraction and a multiply-add.
constexpr double kDefinition = 2.0;
/// Seconds from the start of a kernel to that of the next, measured on H100 and H200.
constexpr double kStep = 5e-6;
/// Seconds that opening a device takes a process, measured on hosts with H100 and H200.
constexpr double kOpening = 0.1;

double attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

const Throughput& throughput_of(int capability) {
  return *std::find_if(kThroughputs.begin(), kThroughputs.end(),
                       [&](const Throughput& each) { return each.capability <= capability; });
}

}  // namespace

Machine device_machine(int device, ScreenPath path) {
  constexpr double kKilohertz = 1e3;
  const double major = attribute(cudaDevAttrComputeCapabilityMajor, device),
               minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  const Throughput& each = throughput_of(static_cast<int>(10 * major + minor));
  const double clocks = attribute(cudaDevAttrMultiProcessorCount, device) * attribute(cudaDevAttrClockRate, device) *
                        kKilohertz * kReached;
  // The memory transfers data twice in a clock.
  const double memory = 2.0 * attribute(cudaDevAttrMemoryClockRate, device) * kKilohertz *
                        attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
  Machine machine;
  machine.copied = (memory > 0.0 ? memory : kUnknownMemory) * kReached;
  machine.gathered = machine.copied * kReached;
  machine.sent = kLink;
  if (path == ScreenPath::wgmma) machine.fp16 = clocks * each.wgmma;
  if (path == ScreenPath::mma) machine.fp16 = clocks * each.mma;
  machine.int8 = clocks * each.int8;
  machine.float32 = clocks * each.float32;
  machine.definitions = clocks * each.float64 / kDefinition;
  machine.step = kStep;
  machine.opening = kOpening;
  return machine;
}

}  // namespace kith::cuda
