// The operations of a neighbour search, and the choice of its method. Those without a comment implement the function of
// the same name in core/points/points.h. T: one of KITH_FOR_POINT_TYPES.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/points/communicator.h"
#include "core/points/points.h"
#include "core/runtime/threads.h"
#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// search.cu
template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists);

// method.cu
/// What is expected to be fastest for `count` queries such as these (choice/search.h), by the share of a sample of the
/// rows that a sample of the queries visits in a tree, and by whether products in fp16 decide them. Builds the tree or
/// the cells then, and adds to the decisions of the context. Waits for the device.
template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const Queries& some, std::int64_t neighbors, std::int64_t count);

// self_join.cu; lists without an entry are missing
template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join);

// row_join.cu
/// Fills lists of the nearest of all held rows, for `own` of them, and returns how many distances were computed by the
/// definition. Lists of fallback rows have no entry: the screen cannot bound their scores, or too many candidates are
/// equally near. Nothing where other searches are expected to be faster. Throws OutOfMemory. Waits for the device.
template <class T>
std::optional<std::int64_t> join_rows(const HeldRows<T>& held, const SelfJoin& join, const Shard& own,
                                      const ListsView& lists);
/// No lists are missing.
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
