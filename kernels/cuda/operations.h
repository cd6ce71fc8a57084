// The operations of assign/, seeding/ and statistics/. Each implements the function of the same name in
// core/points/points.h, and the CPU backend has files of the same names. T: one of KITH_FOR_POINT_TYPES.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/kmeans/update.h"
#include "core/points/communicator.h"
#include "core/runtime/threads.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// assign/find_nearest.cu
/// What to do with a block of rows. Does not wait.
template <class T>
using BlockWork = std::function<void(const Block<T>&)>;
/// Labels all rows by centroids (k, d) on the device, and adds its counts to the record. after: work on each block once
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

// assign/measure.cu
template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia);

// assign/nearest_rows.cu
template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result);

// assign/update_sums.cu
template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums);

// assign/assign.cu
template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);
/// find_nearest() with work on each block that leaves traces: when device memory runs out, frees optional memory, calls
/// restart(), and begins again.
template <class T>
void find_nearest_retrying(HeldRows<T>& held, const double* centroids, std::int64_t k, IterationRecord& record,
                           const BlockWork<T>& after, const std::function<void()>& restart);
/// Serves rows that are sent to the device.
template <class T>
void sweep(HeldRows<T>& held, const SweepRequest& request, Assignment& assignment);

// assign/iterate.cu
/// iterate_shards() of core/points/points.h.
template <class T>
IterateResult iterate(std::span<HeldRows<T>* const> shards, Threads& threads, Communicator& processes,
                      const IterateRequest& request, LloydState& state);

// seeding/seeding.cu
template <class T>
double update_min_distance(HeldRows<T>& held, std::span<const double> seed);
template <class T>
std::int64_t total_min_distance(const HeldRows<T>& held, FixedScale scale);
template <class T>
void draw_rows(const HeldRows<T>& held, FixedScale scale, std::span<const std::int64_t> targets,
               std::span<std::int64_t> rows);
template <class T>
void try_candidates(HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                    std::span<std::int64_t> totals);
template <class T>
double commit_candidate(HeldRows<T>& held, std::int64_t chosen);

// seeding/farthest.cu
template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count);
/// The *wanted rows, at most `most`, with the largest held.distance; of equal ones those with the lowest numbers.
/// wanted: on the device. Returns them with their numbers among all rows, farthest first. Waits. Throws OutOfMemory.
template <class T>
std::vector<FarRow> farthest_rows(const HeldRows<T>& held, const Word* wanted, std::int64_t most);

// statistics/statistics.cu
template <class T>
void add_range(const HeldRows<T>& held, ColumnRange& range);
template <class T>
void add_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes);

// statistics/cluster_distances.cu
template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums);

}  // namespace kith::cuda
