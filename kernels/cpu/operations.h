// The operations of the CPU backend, one file each; kernels/cuda has files of the same names. core/points/backend.h
// documents each operation. T: one of KITH_FOR_POINT_TYPES.
#pragma once

#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

// statistics/statistics.cpp
template <class T>
void add_range(const HeldRows<T>& held, ColumnRange& range);
template <class T>
void add_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes);

// assign/assign.cpp
template <class T>
void assign(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment);

// assign/measure.cpp
template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia);

// assign/nearest_rows.cpp
template <class T>
bool nearest_rows(const HeldRows<T>& held, const NearestRowsRequest& request, NearestRows& result);

// assign/update_sums.cpp
template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums);

// assign/iterate.cpp
template <class T>
IterateResult iterate(HeldRows<T>& held, const IterateRequest& request, LloydState& state);

// seeding/seeding.cpp
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

// seeding/farthest.cpp
template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count);

// search/search.cpp
template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

// search/self_join.cpp
template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join);

// search/radius.cpp
template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& lists);

// search/bits.cpp; held: rows of bits, eight in each value, and queries.measure is a measure of bits
void search_bits(const HeldRows<std::uint8_t>& held, const Queries& queries, NeighborLists& lists);
void search_bits_radius(const HeldRows<std::uint8_t>& held, const Queries& queries, RadiusLists& lists);
void all_bit_distances(const HeldRows<std::uint8_t>& held, const Queries& queries, MatrixView<double> out);

// search/distances.cpp
template <class T>
void all_distances(const HeldRows<T>& held, const Queries& queries, MatrixView<double> out);

// statistics/cluster_distances.cpp
template <class T>
void cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums);

template <class T>
bool bound_cluster_distances(const HeldRows<T>& held, const ClusterDistancesRequest& request, MatrixView<double> lower,
                             MatrixView<double> upper);

}  // namespace kith::cpu
