// The CUDA backend's Points for either class of values.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Throws OutOfMemory when not even the state of the rows fits on the device.
std::unique_ptr<Points> hold_points(std::shared_ptr<Context> context, const PointBlock& block, std::int64_t block_rows);

/// Rows (count, d) that are on the device, in memory of another owner that outlives the points. They can be searched,
/// once prepared. Throws OutOfMemory.
template <class T>
std::unique_ptr<Points> hold_part(std::shared_ptr<Context> context, const T* values, std::int64_t count, std::int64_t d,
                                  std::int64_t first_row);

}  // namespace kith::cuda
