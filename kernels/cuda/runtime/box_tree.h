// A tree of boxes over rows of a set, as it is held on the device; search/tree_build.cu makes it.
//
// The rows are ordered so that near rows are together. A leaf is 32 consecutive ones, a node of each level above has 32
// children, and every node has the exact bounding box of its rows. Nodes are numbered, so that node i of a level has
// the children 32 i .. 32 i + 31 of the level below, and no links are stored.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

inline constexpr int kLeafRows = 32;   // of a leaf, one per lane of a warp; also the children of a node
inline constexpr int kTreeLevels = 6;  // of 2^31 rows
inline constexpr std::int32_t kNoTreeRow = std::numeric_limits<std::int32_t>::max();

/// The type of a box's sides, which holds every value exactly.
template <class T>
using BoxSide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The tree as kernels see it. Boxes are stored for 32 siblings, a family, together: those of family f are at box + f d
/// 2 32, ordered (column, low and high side, sibling).
template <class T>
struct TreeView {
  const T* values = nullptr;                // (leaves, d, 32)
  const std::int32_t* row = nullptr;        // (leaves, 32) position of the row; kNoTreeRow: none
  const BoxSide<T>* box = nullptr;          // (families, d, 2, 32)
  const std::int32_t* first_row = nullptr;  // (families, 32) smallest position in the node
  std::int64_t d = 0;
  int levels = 0;                           // level 0: leaves; the last level has one family
  std::int64_t nodes[kTreeLevels] = {};     // of each level
  std::int64_t families[kTreeLevels] = {};  // number of the first family of each level
};

template <class T>
struct BoxTree {
  Buffer<T> values;
  Buffer<std::int32_t> row, first_row;
  Buffer<BoxSide<T>> box;
  TreeView<T> view;

  bool is_empty() const { return view.levels == 0; }
};

template <class T>
struct Cells;  // search/cells.h

/// The tree of the held rows or their cells.
template <class T>
struct SearchIndex : SearchKnowledge {
  BoxTree<T> tree;                  // empty until a search needs it
  std::shared_ptr<Cells<T>> cells;  // empty until a search needs them
  bool refused = false;             // there was no memory for them

  /// What is known for other rows of the same kind, which have not been searched: nothing if each need cells of their
  /// own.
  SearchKnowledge knowledge() const {
    SearchKnowledge others;
    if (cells == nullptr) others = static_cast<const SearchKnowledge&>(*this);
    others.requested_seconds = 0.0;
    return others;
  }
  void know(const SearchKnowledge& of_others) { static_cast<SearchKnowledge&>(*this) = of_others; }
};

}  // namespace kith::cuda
