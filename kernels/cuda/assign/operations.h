// The operations of Lloyd's iteration. Each implements the function of the same name in core/point_*.h. T: one of
// KITH_FOR_POINT_TYPES.
#pragma once

#include <functional>
#include <span>

#include "core/points/communicator.h"
#include "core/runtime/part_threads.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// find_nearest.cu
/// What to do with a block of rows. Queues only.
template <class T>
using BlockWork = std::function<void(const Block<T>&)>;
/// Labels all rows by centroids (k, d) on the device, and ADDS its counts to the record. after: work on each block once
/// its labels are final, while its rows are on the device if they were needed; empty: none, and blocks are queued
/// behind each other. Earlier labels may be lost when device memory runs out.
template <class T>
void find_nearest(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                  const BlockWork<T>& after = {});
inline void add_to(Assignment& assignment, const IterationRecord& record) {
  assignment.screened += record.screened;
  assignment.ambiguous += record.ambiguous;
  assignment.candidates += record.candidates;
}
/// Adds rows that were decided by the definition among so many candidates.
inline void add_refined(Word rows, Word candidates, IterationRecord& record) {
  record.ambiguous += static_cast<std::int64_t>(rows);
  record.candidates += static_cast<std::int64_t>(candidates);
}

// farthest.cu
template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count);

// measure.cu
template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia);

// nearest_rows.cu
template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result);

// sum_changes.cu
template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums);

// assign.cu
template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);
/// find_nearest() with work on each block that leaves traces: when device memory runs out, frees optional memory, calls
/// restart(), and begins again.
template <class T>
void find_nearest_retrying(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                           const BlockWork<T>& after, const std::function<void()>& restart);
/// For rows that are sent.
template <class T>
void sweep(HeldRows<T>& held, const SweepRequest& request, Assignment& assignment);

// iterate.cu
/// iterate_parts() of core/points/point_clustering.h.
template <class T>
IterateResult iterate(std::span<HeldRows<T>* const> parts, PartThreads& threads, Communicator& processes,
                      const IterateRequest& request, LloydState& state);

}  // namespace kith::cuda
