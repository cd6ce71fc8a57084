// Searches of a k-d tree: lists of the nearest rows, of a set in itself too, and rows within a radius.
#pragma once

#include <functional>
#include <optional>

#include "core/points/point_neighbors.h"
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

struct SampleWork : TreeWork {
  std::int64_t queries = 0;
};

/// The work of at most so many groups of the sorted queries, without their lists. neighbors: k, or 0 for all rows
/// within the limit.
SampleWork sample_tree(const TreeSearcher& searcher, const Queries& queries, std::int64_t neighbors, double limit,
                       std::int64_t groups);

}  // namespace kith::cpu
