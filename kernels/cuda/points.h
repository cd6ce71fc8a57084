// The CUDA backend's Points for either class of values.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether this program has code for the current device: cudaErrorNoKernelImageForDevice or
/// cudaErrorInvalidDeviceFunction if there is none. Launches nothing.
cudaError_t probe_device();

/// Throws OutOfMemory when not even the state of the rows fits on the device.
std::unique_ptr<Points> hold_points(std::shared_ptr<Context> context, const PointBlock& block, std::int64_t block_rows);

/// Rows that are on the device, in memory of another owner that outlives the points.
template <class T>
struct DeviceBlock {
  const T* values = nullptr;  // (count, d)
  std::int64_t count = 0, d = 0;
  std::int64_t first_row = 0;
};

/// Rows that can be searched, once prepared. known: in and out, what searches of the blocks before and of this one have
/// shown; it outlives the points. Throws OutOfMemory.
template <class T>
std::unique_ptr<Points> hold_block(std::shared_ptr<Context> context, const DeviceBlock<T>& block,
                                   SearchKnowledge& known);

}  // namespace kith::cuda
