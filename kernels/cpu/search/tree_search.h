// Searches of a k-d tree: lists of the nearest rows, of a set in itself too, and rows within a radius.
#pragma once

#include <functional>
#include <optional>

#include "core/point_neighbors.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/search/tree.h"

namespace kith::cpu {

/// Work of a search.
struct TreeWork {
  std::int64_t distances = 0;  // D of a query and a row
  std::int64_t visits = 0;     // of a query and a node
  TreeWork& operator+=(const TreeWork& other) {
    distances += other.distances;
    visits += other.visits;
    return *this;
  }
};

/// What a search of a tree needs.
struct TreeSearcher {
  const SearchTree& tree;
  std::int64_t first_row;  // number of row 0
  const Instructions& set;
  Threads& threads;
};

/// Merges the nearest rows of the tree into the lists.
TreeWork search_tree(const TreeSearcher& searcher, const Queries& queries, NeighborLists& lists);

/// Lists of all rows of the tree, searched in itself. The tree must hold all rows of the data set.
NeighborLists join_tree(const TreeSearcher& searcher, const SelfJoin& join);

/// Adds the rows within the limit of each query.
TreeWork search_tree_radius(const TreeSearcher& searcher, const Queries& queries, RadiusLists& lists);

/// The work of searching some groups of neighbouring rows, evenly spread, for their k nearest. Returns the number of
/// rows that were searched for.
std::int64_t sample_tree(const TreeSearcher& searcher, Measure measure, std::int64_t neighbors, std::int64_t groups,
                         TreeWork& work);

}  // namespace kith::cpu
