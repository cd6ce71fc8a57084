// The operations of a neighbour search. Each implements the function of the same name in core/points/points.h. T: one
// of KITH_FOR_POINT_TYPES.
#pragma once

#include <optional>
#include <span>

#include "core/runtime/threads.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// search.cu
template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

// self_join.cu; lists without an entry are missing
template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join);

// row_join.cu; no lists are missing
template <class T>
std::optional<NeighborLists> join_shards(std::span<const HeldRows<T>* const> parts, Threads& threads,
                                         const SelfJoin& join);

// radius.cu
template <class T>
void search_radius(const HeldRows<T>& held, const Queries& queries, RadiusLists& lists);

// distances.cu
template <class T>
void all_distances(const HeldRows<T>& held, const Queries& queries, MatrixView<double> out);

}  // namespace kith::cuda
