// Whether this program holds code that the current device can run.
#pragma once

#include <cuda_runtime_api.h>

namespace kith::cuda {

/// cudaErrorNoKernelImageForDevice or cudaErrorInvalidDeviceFunction where there is none. Runs nothing.
cudaError_t probe_device();

}  // namespace kith::cuda
