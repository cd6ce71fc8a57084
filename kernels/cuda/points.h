// The CUDA backend's Points for either class of values.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Throws OutOfMemory when not even the state of the rows fits on the device.
std::unique_ptr<Points> hold_points(std::shared_ptr<Context> context, const PointBlock& block, std::int64_t block_rows);

}  // namespace kith::cuda
