// The statistics of the held rows. Each computes what the verb of this name in core/backend.h says. T: one of
// KITH_FOR_POINT_TYPES.
#pragma once

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// statistics.cu
template <class T>
void add_range(const HeldRows<T>& held, ColumnRange& range);
template <class T>
void add_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes);

// cluster_distances.cu
template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums);

}  // namespace kith::cuda
