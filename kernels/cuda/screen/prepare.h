// Prepares the held rows for the screens.
#pragma once

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Points::prepare() of core/backend.h.
template <class T>
void prepare(HeldRows<T>& held, const DataPlan& plan);

}  // namespace kith::cuda
