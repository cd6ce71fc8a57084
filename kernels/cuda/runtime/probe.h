// Whether this program has code for the current device.
#pragma once

#include <cuda_runtime_api.h>

namespace kith::cuda {

/// cudaErrorNoKernelImageForDevice or cudaErrorInvalidDeviceFunction if there is none. Launches nothing.
cudaError_t probe_device();

}  // namespace kith::cuda
