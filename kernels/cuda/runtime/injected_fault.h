// Failures that tests cause and a real device does not produce on demand: memory that runs out, a launch that is
// refused, a device that disappears. Outside tests nothing is injected, and each check costs one load.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kith::cuda {

/// What fails, of the allocations of device memory and the checked calls since inject() on any thread.
struct InjectedFault {
  enum Kind {
    none,
    count_only,       // nothing
    one_allocation,   // the `first`-th: another process has taken the memory, and returns it
    all_allocations,  // from the `first`-th on: the memory stays away
    one_call,         // the `first`-th: a launch is refused
    all_calls,        // from the `first`-th on: the device is lost
  } kind = none;
  std::int64_t first = 0;  // counted from 1
};

/// Begins to count, from 1. Not while another thread uses a device.
void inject(const InjectedFault& fault);
std::int64_t counted_allocations();
std::int64_t counted_calls();

/// Whether this allocation must fail.
bool injects_allocation_failure() noexcept;
/// The error in place of the success of this call.
cudaError_t injected_call_error() noexcept;

}  // namespace kith::cuda
