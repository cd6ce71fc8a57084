// Whether a search uses a k-d tree: the tree if its expected time is less than that of products.
#pragma once

#include "kernels/cpu/runtime/held_rows.h"
#include "kernels/cpu/search/tree_search.h"

namespace kith::cpu {

/// A search that may use a tree.
struct TreeRequest {
  Queries queries;             // of a set in itself: no values
  std::int64_t neighbors = 0;  // k; 0 for a radius search
  double limit = 0.0;          // of a radius search
  std::int64_t bytes = 0;      // of memory that the tree may take
  bool is_join = false;        // of all held rows in themselves
};

/// The tree of the held rows if the search is expected to be faster with it, else null. Kept until reset().
template <class T>
std::shared_ptr<const SearchTree> tree_for(const HeldRows<T>& held, const TreeRequest& request);

template <class T>
TreeSearcher searcher_of(const HeldRows<T>& held, const SearchTree& tree) {
  return {tree, held.first_row, held.set, held.threads};
}

}  // namespace kith::cpu
