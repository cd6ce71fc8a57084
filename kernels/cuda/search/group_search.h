// The neighbour search in groups of rows (centered_groups.h), for rows in a few dense clusters.
#pragma once

#include <functional>

#include "kernels/cuda/search/centered_groups.h"

namespace kith::cuda {

/// Fills unfilled lists with the nearest of rows, by their positions.
template <class T>
using SearchRows = std::function<void(const HeldRows<T>&, const Queries&, NeighborLists&)>;

template <class T>
struct GroupSearch {
  SearchRows<T> own;     // for queries among the rows
  SearchRows<T> others;  // for queries that may be far from them
};

/// Merges the nearest rows into the lists: those of the group whose center is nearest to a query, and then those of
/// every other group that may have nearer ones. Requires held.cells.groups. Throws OutOfMemory, after it may have
/// changed lists. Waits for the device.
template <class T>
void search_groups(const HeldRows<T>& held, const Queries& queries, const GroupSearch<T>& search, NeighborLists& lists);

}  // namespace kith::cuda
