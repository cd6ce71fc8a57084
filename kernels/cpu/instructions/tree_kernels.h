// The kernels that search a k-d tree for a group of queries; instructions/tree.h implements them for each instruction
// set.
//
// Each query of a group has a lane. Like instructions.h, this header must include nothing that instantiates shared
// inline code.
#pragma once

#include <cstdint>

#include "core/numbers/measure.h"

namespace kith::cpu {

inline constexpr int kTreeQueries = 16;    // queries of a group
inline constexpr int kTreeMaxColumns = 8;  // rows of up to so many columns have kernels of their own
inline constexpr int kTreeMaxDepth = 48;   // of nodes, which halve the number of rows

/// A node of a tree in preorder: its first child is the next node.
struct TreeNode {
  double split;               // rows of the first child are at most this in the column of the split, others at least
  std::int32_t column;        // of the split; -1: a leaf
  std::int32_t second;        // number of the second child
  std::int32_t first;         // position of its first row
  std::int32_t last;          // position after its last row
  std::int32_t lowest;        // lowest row number
  std::int32_t equal_before;  // if all rows of the node are equal: rows equal to them with lower numbers, or fewer
};

struct TreeView {
  const TreeNode* nodes;        // preorder
  const double* boxes;          // [node][smallest, largest][column] of its rows
  const float* narrow_rows;     // [position][column], or null
  const double* wide_rows;      // the same if there are no narrow rows
  const std::int32_t* numbers;  // [position] row number
  std::int64_t columns;
};

/// A row that may belong to the list of a query.
struct TreeHit {
  double distance;
  std::int64_t row;
};

/// Queries that search a tree together. Rows are relevant to a lane if D <= limit and, if they are ties at tie_limit,
/// their number is below tie_row.
struct TreeGroup {
  const double* queries;        // [column][lane]
  const float* narrow_queries;  // the same rounded
  const double* rounding;       // (lanes) at least the distance between a query and its rounded values
  bool is_rounded;              // a rounding is not 0
  const double* center;         // (columns) of the queries
  double* limit;                // (lanes) -infinity for a lane without a query
  float* narrow_limit;          // (lanes) above D in float32 of rows within the limit
  double* tie_limit;            // (lanes)
  double* tie_row;              // (lanes)
  double* nearest;  // [neighbors][lane] the smallest D so far, ascending, of which the last is the limit; or null
  std::int64_t neighbors;
  double* logged;            // [entry][lane] D of rows that were relevant to a lane
  std::int32_t* logged_row;  // [entry]
  std::int64_t log_size, log_capacity;
  TreeHit* hits;  // [lane][hit_capacity] rows from the log
  std::int64_t hit_count[kTreeQueries];
  std::int64_t hit_capacity;
  const std::int32_t* seeds;  // leaves to be searched first
  std::int64_t seed_count;
  void (*on_full)(void* owner);  // called when the log is full; empties it and may lower limits
  void* owner;
  std::int64_t distances;  // ADDED: rows that were compared with the group
  std::int64_t visited;    // ADDED: nodes that were compared with the group
};

struct TreeKernels {
  using Search = void (*)(const TreeView&, TreeGroup&);
  /// Logs all rows of a tree that are relevant to a lane, and maybe others.
  template <class Row>
  struct OfRows {
    Search euclidean[kTreeMaxColumns + 1];  // [columns]; [0]: any number of columns
    Search manhattan, chebyshev;
    Search of(Measure measure, std::int64_t columns) const {
      if (measure == Measure::manhattan) return manhattan;
      if (measure == Measure::chebyshev) return chebyshev;
      return euclidean[columns <= kTreeMaxColumns ? columns : 0];
    }
  };
  OfRows<float> narrow;
  OfRows<double> wide;
  /// Moves the log to the hits, without rows above the limit.
  void (*drain)(TreeGroup&);
};

}  // namespace kith::cpu
