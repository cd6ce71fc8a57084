// A k-d tree over held rows, for searches that need not compare each query with each row: lists of the nearest rows, of
// a set in itself too, and rows within a radius.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/points/points.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

inline constexpr std::int64_t kTreeLeafRows = 32;
static_assert(kTreeLeafRows % kTreeQueries == 0);  // leaves of a set that is searched in itself are whole groups

/// Rows in the order of the leaves, each leaf of kTreeLeafRows rows except the last, and boxes of all nodes.
struct SearchTree {
  UninitializedVector<float> narrow_rows;     // [position][column] if float32 holds the rows exactly
  UninitializedVector<double> wide_rows;      // [position][column] if not
  UninitializedVector<std::int32_t> numbers;  // [position] row number
  std::vector<TreeNode> nodes;                // preorder
  std::vector<double> boxes;                  // [node][smallest, largest][column]
  std::int64_t columns = 0;

  std::int64_t size() const { return std::ssize(numbers); }
  TreeView view() const {
    return {nodes.data(), boxes.data(), narrow_rows.data(), wide_rows.data(), numbers.data(), columns};
  }
  bool is_narrow() const { return wide_rows.empty(); }
  double value(std::int64_t position, std::int64_t column) const {
    const std::int64_t at = position * columns + column;
    return is_narrow() ? static_cast<double>(narrow_rows[at]) : wide_rows[at];
  }
  /// Number of the leaf that holds a position, or of the first leaf with equal rows.
  std::int32_t leaf_at(std::int64_t position) const {
    return leaf_where([&](const TreeNode& node) { return position < nodes[node.second].first; });
  }
  /// Number of the leaf that a row with these values would be in, or of the first leaf with equal rows.
  std::int32_t leaf_of(const double* values) const {
    return leaf_where([&](const TreeNode& node) { return values[node.column] <= node.split; });
  }

 private:
  /// is_first(node): whether to go on to the first child.
  template <class IsFirst>
  std::int32_t leaf_where(const IsFirst& is_first) const {
    std::int32_t number = 0;
    while (nodes[number].column >= 0) {
      const TreeNode& node = nodes[number];
      number = is_first(node) || nodes[node.second].equal_before > 0 ? number + 1 : node.second;
    }
    return number;
  }
};

/// The tree of fewer than 2^31 rows: O(n log n) comparisons. The same for any number of threads.
template <class T>
SearchTree make_tree(MatrixView<const T> values, Threads& threads);

/// The tree of the held rows, made if there is none yet; null if memory is short. Kept until reset().
template <class T>
std::shared_ptr<const SearchTree> tree_of(const HeldRows<T>& held);

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

template <class T>
TreeSearcher searcher_of(const HeldRows<T>& held, const SearchTree& tree) {
  return {tree, held.first_row, held.set, held.threads};
}

}  // namespace kith::cpu
