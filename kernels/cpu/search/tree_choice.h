// Whether a search should use a k-d tree, by its expected time, and the tree.
#pragma once

#include "kernels/cpu/runtime/held_rows.h"
#include "kernels/cpu/search/tree_search.h"

namespace kith::cpu {

/// A search that may use a tree.
struct TreeRequest {
  Measure measure = Measure::squared_euclidean;
  std::int64_t queries = 0;
  std::int64_t neighbors = 0;  // 0: unknown
  std::int64_t bytes = std::int64_t{1} << 62;  // of memory for the tree
};

/// The tree of the held rows if the search is expected to be faster with it, else null. Keeps it until reset().
template <class T>
std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>& held, const TreeRequest& request);

template <class T>
TreeSearcher searcher_of(const HeldRows<T>& held, const SearchTree& tree) {
  return {tree, held.first_row, held.set, held.threads};
}

}  // namespace kith::cpu
