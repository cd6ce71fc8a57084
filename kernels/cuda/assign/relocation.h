// Relocation of empty clusters during iterations on the device.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/iterate.h"

namespace kith::cuda {

/// What relocate_empty_clusters() (core/kmeans/cluster_update.h) does, for rows of one device that are all rows and
/// have no weights: measures them, and changes labels; sums and counts of `lloyd` stay. Returns the number of relocated
/// rows. Waits.
template <class T>
std::int64_t relocate(HeldRows<T>& held, const DeviceLloyd<T>& lloyd);

}  // namespace kith::cuda
