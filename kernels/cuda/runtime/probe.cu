// A kernel that is never launched: its attributes exist if the program has code for the device.
#include "kernels/cuda/runtime/probe.h"

namespace kith::cuda {
namespace {

__global__ void probe_kernel() {}

}  // namespace

cudaError_t probe_device() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, probe_kernel);
}

}  // namespace kith::cuda
