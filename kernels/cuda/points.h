// The CUDA backend's Points for either class of values; and searches of rows that do not fit on the device, or that are
// still in a file: block by block, each while the next one is read and sent.
#pragma once

#include <functional>
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

/// Whether the rows are searched in blocks: unread ones; and those that are sent, where blocks that are searched on the
/// tensor cores are faster.
template <class T>
bool searches_in_blocks(const HeldRows<T>& held, const Queries& queries);

/// Calls search(points) for consecutive blocks of the rows. Each is prepared by the plan of all rows or, if there is
/// none, by its own. Unread rows stay on the device if they fit, and are no longer unread. Frees optional memory, and
/// makes the blocks smaller, where memory is short. measure: of the search, in which no distance may lose its digits.
template <class T>
void search_blocks(HeldRows<T>& held, Measure measure, const std::function<void(const Points&)>& search);

}  // namespace kith::cuda
