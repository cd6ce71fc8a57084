// The statistics of the held rows. Each implements the function of the same name in core/point_*.h. T: one of
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
