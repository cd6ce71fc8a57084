// Searches of rows that do not fit on the device: part by part, each as large as the memory allows.
#pragma once

#include <functional>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Whether parts that are uploaded, and searched on the tensor cores, are faster than rows that are sent.
template <class T>
bool searches_in_parts(const HeldRows<T>& held, const Queries& queries);

/// Calls search(points) for consecutive parts of the rows, which are held one after another. Frees optional memory if
/// there is none for a part.
template <class T>
void for_parts(HeldRows<T>& held, const std::function<void(const Points&)>& search);

}  // namespace kith::cuda
