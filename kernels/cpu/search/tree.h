// A k-d tree over held rows, for searches that need not compare each query with each row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/large_pages.h"
#include "core/matrix.h"
#include "kernels/cpu/instructions/tree_kernels.h"
#include "kernels/cpu/runtime/threads.h"

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
  /// Number of the leaf that holds a position.
  std::int32_t leaf_at(std::int64_t position) const {
    std::int32_t node = 0;
    while (nodes[node].column >= 0) node = position < nodes[nodes[node].second].first ? node + 1 : nodes[node].second;
    return node;
  }
  /// Number of the leaf that a row with these values would be in.
  std::int32_t leaf_of(const double* values) const {
    std::int32_t node = 0;
    while (nodes[node].column >= 0)
      node = values[nodes[node].column] <= nodes[node].split ? node + 1 : nodes[node].second;
    return node;
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
