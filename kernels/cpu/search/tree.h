// A k-d tree over held rows, for searches that need not compare each query with each row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/points/matrix.h"
#include "core/runtime/large_pages.h"
#include "core/runtime/threads.h"
#include "kernels/cpu/instructions/tree_kernels.h"

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

/// Bytes of a tree, and of its construction.
inline std::int64_t tree_bytes(std::int64_t rows, std::int64_t columns) {
  const std::int64_t leaves = rows / kTreeLeafRows + 1, row = 8 * columns + 4, temporary = 16;
  return rows * (row + temporary) + 2 * leaves * (16 * columns + static_cast<std::int64_t>(sizeof(TreeNode)));
}

/// The tree of fewer than 2^31 rows: O(n log n) comparisons. The same for any number of threads.
template <class T>
SearchTree make_tree(MatrixView<const T> values, Threads& threads);

}  // namespace kith::cpu
