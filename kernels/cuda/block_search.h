// Searches of rows that do not fit on the device, or that are still in a file: block by block, each while the next one
// is read and sent.
#pragma once

#include <functional>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

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
