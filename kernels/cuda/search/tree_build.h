// Builds trees of boxes (runtime/box_tree.h) over all held rows, or over some of them.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Bytes of device memory of a tree over `count` rows, and while it is built.
template <class T>
std::int64_t tree_bytes(std::int64_t count, std::int64_t d);

/// The tree over `count` > 0 rows. positions: those of the rows, in ascending order; null: one of each `stride` rows,
/// where count <= rows / stride.
/// Requires resident rows. Throws OutOfMemory. Asynchronous.
template <class T>
BoxTree<T> build_tree(const HeldRows<T>& held, const std::int32_t* positions, std::int64_t stride, std::int64_t count);

}  // namespace kith::cuda
