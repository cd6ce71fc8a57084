// Searches of several groups of rows at once: one launch rounds the queries of all groups, one multiplies them, and one
// makes their lists, where a search of each group alone would take about ten.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/search/group_lists.h"
#include "kernels/cuda/search/rows_search.h"

namespace kith::cuda {

/// A group, and the queries for which it is searched.
template <class T>
struct GroupPart {
  const HeldRows<T>* rows = nullptr;
  GroupRows numbers;
  const std::int32_t* chosen = nullptr;  // (count) on the device
  std::int64_t count = 0;
  bool measures_all = false;
};

/// Throws OutOfMemory. May wait for the device.
template <class T>
GroupPath path_of_group(const HeldRows<T>& rows, std::int64_t neighbors);

/// Whether a search of the group for `count` queries fills the device alone.
template <class T>
bool fills_device(const HeldRows<T>& rows, std::int64_t count);

/// search_chosen() for several groups that are searched together, whose queries are within the usual limit, and chosen
/// from the first queries.batch. chosen, count: of the parts. bytes: of memory, about. Throws OutOfMemory. Waits for
/// the device.
template <class T>
void search_together(const std::vector<GroupPart<T>>& parts, const ChosenQueries<double>& queries,
                     const QueryLists& out, std::int64_t bytes);

}  // namespace kith::cuda
