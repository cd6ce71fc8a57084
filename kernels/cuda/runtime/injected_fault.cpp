// The fault that a test has injected, and the counts since.
#include "kernels/cuda/runtime/injected_fault.h"

#include <atomic>

namespace kith::cuda {
namespace {

std::atomic<InjectedFault::Kind> kind{InjectedFault::none};
std::int64_t first_failure = 0;  // written before `kind`
std::atomic<std::int64_t> allocations{0}, calls{0};

}  // namespace

void inject(const InjectedFault& fault) {
  kind = InjectedFault::none;
  allocations = 0;
  calls = 0;
  first_failure = fault.first;
  kind = fault.kind;
}

std::int64_t counted_allocations() { return allocations; }
std::int64_t counted_calls() { return calls; }

bool injects_allocation_failure() noexcept {
  const InjectedFault::Kind now = kind.load(std::memory_order_acquire);
  if (now == InjectedFault::none) return false;
  const std::int64_t number = ++allocations;
  return now == InjectedFault::one_allocation ? number == first_failure
                                              : now == InjectedFault::all_allocations && number >= first_failure;
}

cudaError_t injected_call_error() noexcept {
  const InjectedFault::Kind now = kind.load(std::memory_order_acquire);
  if (now == InjectedFault::none) return cudaSuccess;
  const std::int64_t number = ++calls;
  if (now == InjectedFault::one_call && number == first_failure) return cudaErrorLaunchOutOfResources;
  return now == InjectedFault::all_calls && number >= first_failure ? cudaErrorDevicesUnavailable : cudaSuccess;
}

}  // namespace kith::cuda
