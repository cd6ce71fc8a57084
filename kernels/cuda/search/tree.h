// The tree of boxes (runtime/box_tree.h): how it is built, and its search for queries on the device or the host.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

/// Lengths around the center of the fp16 rows, by which queries are skipped that are nearer to their k-th neighbour
/// than to any row of a tree (the triangle inequality).
struct TreeLengths {
  const float* norm = nullptr;      // (queries) |q^|, rounded up; null: no query is skipped
  const float* residual = nullptr;  // (queries) |q' - q^|, rounded up
  double shortest = 0.0;            // a lower bound of |x'| of the rows
  double unit = 1.0;                // of the lengths

  /// Whether D of query q is above `distance` for all rows.
  __device__ bool are_beyond(std::int64_t q, double distance) const {
    if (norm == nullptr) return false;
    const double length = (static_cast<double>(norm[q]) + static_cast<double>(residual[q])) * (1 + 0x1p-40);
    const double apart = (shortest - length) * unit;
    return apart > 0 && apart * apart * (1 - 0x1p-20) > distance;
  }
};

/// Queries on the device.
struct TreeQueries {
  const double* values = nullptr;  // (count, d)
  std::int64_t count = 0;
  std::int64_t neighbors = 0;  // length of each list, at most 32 kSlots
  std::int64_t excluded = -1;  // if has_excluded: query i excludes the row at position excluded + i
  bool has_excluded = false;
  const std::int32_t* excluded_rows = nullptr;  // or (count) the position that each excludes, -1: none
  bool only_filled = false;                     // skips lists that have no entry
  std::int64_t first_row = 0;                   // row number of position 0
  std::int64_t most_leaves = 0;                 // that a query may visit; if it needs more, its list stays as it was
  TreeLengths lengths = {};

  /// The position of the row that query q excludes; of no row if it is not that of one.
  __device__ std::int64_t excluded_by(std::int64_t q) const {
    if (excluded_rows != nullptr) return excluded_rows[q];
    return has_excluded ? excluded + q : -1;
  }
};

struct TreeOutcome {
  DeviceLists lists;                  // in and out: merged into
  unsigned char* given_up = nullptr;  // (count) 1: the query needed more leaves; or null
  Word* measured = nullptr;           // (1) increased by the distances computed
  Word* bounded = nullptr;            // (1) increased by the boxes of which a bound was computed; or null
};

/// Bytes of device memory of a tree over `count` rows, and while it is built.
template <class T>
std::int64_t tree_bytes(std::int64_t count, std::int64_t d);

/// The tree over `count` > 0 rows. positions: those of the rows, in ascending order; null: one of each `stride` rows,
/// where count <= rows / stride.
/// Requires resident rows. Throws OutOfMemory. Asynchronous.
template <class T>
BoxTree<T> build_tree(const HeldRows<T>& held, const std::int32_t* positions, std::int64_t stride, std::int64_t count);

inline constexpr std::int64_t kMostTreeNeighbors = 128;  // a list is in registers
inline constexpr std::int64_t kMostTreeColumns = 3840;   // a query of a thread block is in shared memory

/// Fills `count` entries of lists with (+inf, -1). Asynchronous.
void clear_lists(const Context& context, const DeviceLists& lists, std::int64_t count);

/// Merges the nearest rows of a tree into the lists of the queries. Asynchronous.
template <class T>
void launch_tree(const Context& context, const TreeView<T>& tree, const TreeQueries& queries, const TreeOutcome& out);

/// The share of the pairs that a tree costs, by the distances and bounds that were computed: a box has two sides.
double computed_share(const Word (&computed)[2], std::int64_t queries, std::int64_t rows);

/// Queries (count, d) on the device, which may visit a share of the tree of the held rows.
template <class T>
TreeQueries tree_queries(const HeldRows<T>& held, const double* values, std::int64_t count, std::int64_t neighbors);

/// Merges the nearest rows into the lists. Requires that choose_search() chose the tree. unfilled: no list has an
/// entry. Returns, in ascending order, the fallback queries, which would visit a large part of the tree; their lists do
/// not change. Throws OutOfMemory, before it changes a list. Waits for the device.
template <class T>
std::vector<std::int64_t> search_tree(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                      NeighborLists& lists);

}  // namespace kith::cuda
