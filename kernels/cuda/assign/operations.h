// The operations of Lloyd's iteration. Each implements the function of the same name in core/point_*.h. T: one of
// KITH_FOR_POINT_TYPES.
#pragma once

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// assign.cu
/// Labels all rows by centroids (k, d) on the device, and ADDS its counts to the record. Earlier labels may be lost
/// when device memory runs out.
template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record);
template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);

// measure.cu
template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia);

// nearest_rows.cu
template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result);

// update.cu
template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums);

// iterate.cu
template <class T>
IterateResult iterate(HeldRows<T>& held, const IterateRequest& request, LloydState& state);

}  // namespace kith::cuda
