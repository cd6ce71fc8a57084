// Which way a search takes.
#pragma once

#include <cstdint>

#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// What is expected to be fastest for `count` queries such as these (choice/search.h), by the share of a sample of the
/// rows that a sample of the queries visits in a tree, and by whether products in fp16 decide them. Builds the tree or
/// the cells then, and adds to the decisions of the context. Waits for the device.
template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const Queries& some, std::int64_t neighbors, std::int64_t count);

}  // namespace kith::cuda
