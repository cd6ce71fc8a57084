// Builds a k-d tree: each node is split at a multiple of the leaf size near its middle, in its widest column.
//
// The largest nodes are split level by level, all threads taking part; smaller ones with all their descendants by one
// thread, which first copies their rows to memory that fits in the cache. Equal values are ordered by row number, so a
// set of equal rows makes a tree like any other.
#include "kernels/cpu/search/tree.h"

#include <algorithm>
#include <limits>
#include <new>
#include <type_traits>

#include "kernels/cpu/choice/search.h"

namespace kith::cpu {
namespace {

/// A row and its value in the column of a split.
struct Key {
  double value;
  std::int32_t row;
  std::int32_t local;  // its place in the copy of the rows
  friend bool operator<(const Key& a, const Key& b) { return a.value != b.value ? a.value < b.value : a.row < b.row; }
};

/// A node that is not made yet, and its rows.
struct Range {
  std::int32_t node;
  std::int64_t first, last;  // positions
  std::int64_t rows() const { return last - first; }
  std::int64_t leaves() const { return ceil_div(rows(), kTreeLeafRows); }
};

template <class T>
class TreeBuilder {
 public:
  TreeBuilder(MatrixView<const T> values, Threads& threads) : values_(values), threads_(threads), d_(values.columns) {}

  SearchTree build() {
    const std::int64_t n = values_.rows;
    const Range root{0, 0, n};
    tree_.columns = d_;
    rows().resize(static_cast<std::size_t>(n * d_));
    tree_.numbers.resize(static_cast<std::size_t>(n));
    tree_.nodes.resize(static_cast<std::size_t>(2 * root.leaves() - 1));
    tree_.boxes.resize(tree_.nodes.size() * 2 * d_);
    keys_.resize(static_cast<std::size_t>(n));
    for_parts(n, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) keys_[i].row = static_cast<std::int32_t>(i);
    });
    split_large(root);
    std::vector<Copy> copies(static_cast<std::size_t>(threads_.count()));
    threads_.run(std::ssize(small_), [&](std::int64_t task, int thread) { build_below(small_[task], copies[thread]); });
    for (auto each = large_.rbegin(); each != large_.rend(); ++each) join_boxes(*each);
    count_equal_rows();
    return std::move(tree_);
  }

 private:
  using Row = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr std::int64_t kCopiedRows = 1 << 15;  // at most, of a node that is copied

  /// Rows in the memory of a thread.
  struct Copy {
    std::vector<double> rows;  // [local][column]
  };

  template <class Work>
  void for_parts(std::int64_t count, const Work& work) {
    constexpr std::int64_t kPart = 1 << 14;
    threads_.run(ceil_div(count, kPart),
                 [&](std::int64_t task, int) { work(task * kPart, std::min((task + 1) * kPart, count)); });
  }

  /// Splits nodes level by level until they are small.
  void split_large(const Range& root) {
    std::vector<Range> level{root};
    while (!level.empty()) {
      std::vector<Range> large, next;
      for (const Range& each : level) (each.rows() > kCopiedRows ? large : small_).push_back(each);
      for (const Range& each : large) {
        const auto value = [&](const Key& key, std::int64_t j) { return value_of(key.row, j); };
        tree_.nodes[each.node].column = widest_column(each, value);
        for_parts(each.rows(), [&](std::int64_t first, std::int64_t last) {
          const std::int32_t column = tree_.nodes[each.node].column;
          for (std::int64_t i = each.first + first; i < each.first + last; ++i)
            keys_[i].value = value_of(keys_[i].row, column);
        });
      }
      next.resize(2 * large.size());
      threads_.run(std::ssize(large),
                   [&](std::int64_t task, int) { split(large[task], &next[static_cast<std::size_t>(2 * task)]); });
      large_.insert(large_.end(), large.begin(), large.end());
      level = std::move(next);
    }
  }

  UninitializedVector<Row>& rows() {
    if constexpr (std::is_same_v<Row, double>) {
      return tree_.wide_rows;
    } else {
      return tree_.narrow_rows;
    }
  }

  double value_of(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(values_.data[row * d_ + column]);
  }

  /// The column with the largest range among a sample of the rows.
  template <class Value>
  std::int32_t widest_column(const Range& range, const Value& value) const {
    constexpr std::int64_t kSample = 64;
    const std::int64_t step = ceil_div(range.rows(), kSample);
    std::int32_t widest = 0;
    double width = -1.0;
    for (std::int64_t j = 0; j < d_; ++j) {
      double low = value(keys_[range.first], j), high = low;
      for (std::int64_t i = range.first + step; i < range.last; i += step) {
        const double v = value(keys_[i], j);
        low = v < low ? v : low;
        high = v > high ? v : high;
      }
      if (high - low > width) width = high - low, widest = static_cast<std::int32_t>(j);
    }
    return widest;
  }

  /// Orders the keys of a node, whose values are those of its column, around the split, and makes its children.
  void split(const Range& range, Range* children) {
    const std::int64_t leaves = range.leaves() / 2, middle = range.first + leaves * kTreeLeafRows;
    std::nth_element(keys_.begin() + range.first, keys_.begin() + middle, keys_.begin() + range.last);
    TreeNode& node = tree_.nodes[range.node];
    node.second = range.node + static_cast<std::int32_t>(2 * leaves);
    node.split = keys_[middle].value;
    node.first = static_cast<std::int32_t>(range.first);
    node.last = static_cast<std::int32_t>(range.last);
    children[0] = {range.node + 1, range.first, middle};
    children[1] = {node.second, middle, range.last};
  }

  /// Makes a node and all below it.
  void build_below(const Range& top, Copy& copy) {
    copy.rows.resize(static_cast<std::size_t>(top.rows() * d_));
    for (std::int64_t i = 0; i < top.rows(); ++i) {
      Key& key = keys_[top.first + i];
      const T* row = values_.data + key.row * d_;
      std::copy(row, row + d_, copy.rows.begin() + i * d_);
      key.local = static_cast<std::int32_t>(i);
    }
    build_in(top, copy.rows.data());
  }

  void build_in(const Range& range, const double* copy) {
    if (range.leaves() == 1) return make_leaf(range, copy);
    const std::int32_t column = select_column(range, copy);
    tree_.nodes[range.node].column = column;
    Range children[2];
    split(range, children);
    build_in(children[0], copy);
    build_in(children[1], copy);
    join_boxes(range);
  }

  std::int32_t select_column(const Range& range, const double* copy) {
    const std::int32_t column =
        widest_column(range, [&](const Key& key, std::int64_t j) { return copy[key.local * d_ + j]; });
    for (std::int64_t i = range.first; i < range.last; ++i) keys_[i].value = copy[keys_[i].local * d_ + column];
    return column;
  }

  void make_leaf(const Range& range, const double* copy) {
    if (range.rows() > kTreeQueries) {  // groups of near rows
      select_column(range, copy);
      std::nth_element(keys_.begin() + range.first, keys_.begin() + range.first + kTreeQueries,
                       keys_.begin() + range.last);
    }
    double* low = box(range.node);
    double* high = low + d_;
    std::fill_n(low, d_, std::numeric_limits<double>::infinity());
    std::fill_n(high, d_, -std::numeric_limits<double>::infinity());
    std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const double* row = copy + keys_[i].local * d_;
      for (std::int64_t j = 0; j < d_; ++j) {
        rows()[i * d_ + j] = static_cast<Row>(row[j]);
        low[j] = std::min(low[j], row[j]);
        high[j] = std::max(high[j], row[j]);
      }
      tree_.numbers[i] = keys_[i].row;
      lowest = std::min(lowest, keys_[i].row);
    }
    tree_.nodes[range.node] = {.split = 0.0,
                               .column = -1,
                               .second = 0,
                               .first = static_cast<std::int32_t>(range.first),
                               .last = static_cast<std::int32_t>(range.last),
                               .lowest = lowest,
                               .equal_before = 0};
  }

  double* box(std::int32_t node) { return tree_.boxes.data() + 2 * d_ * node; }

  void join_boxes(const Range& range) {
    TreeNode& node = tree_.nodes[range.node];
    const std::int32_t first = range.node + 1, second = node.second;
    node.lowest = std::min(tree_.nodes[first].lowest, tree_.nodes[second].lowest);
    for (std::int64_t j = 0; j < d_; ++j) {
      box(range.node)[j] = std::min(box(first)[j], box(second)[j]);
      box(range.node)[d_ + j] = std::max(box(first)[d_ + j], box(second)[d_ + j]);
    }
  }

  /// Equal rows are ordered by row number, so those of a first child precede those of the second.
  void count_equal_rows() {
    for (std::int32_t number = 0; number < std::ssize(tree_.nodes); ++number) {
      const TreeNode& node = tree_.nodes[number];
      if (node.column < 0 || !std::equal(box(number), box(number) + d_, box(number) + d_)) continue;
      TreeNode& first = tree_.nodes[number + 1];
      first.equal_before = node.equal_before;
      tree_.nodes[node.second].equal_before = node.equal_before + first.last - first.first;
    }
  }

  MatrixView<const T> values_;
  Threads& threads_;
  std::int64_t d_;
  SearchTree tree_;
  UninitializedVector<Key> keys_;
  std::vector<Range> large_, small_;
};

}  // namespace

template <class T>
SearchTree make_tree(MatrixView<const T> values, Threads& threads) {
  return TreeBuilder<T>(values, threads).build();
}

template <class T>
std::shared_ptr<const SearchTree> tree_of(const HeldRows<T>& held) {
  try {
    if (held.tree == nullptr) held.tree = std::make_shared<const SearchTree>(make_tree(held.values, held.threads));
  } catch (const std::bad_alloc&) {  // other searches need less memory
  }
  return held.tree;
}

std::int64_t tree_bytes(std::int64_t rows, std::int64_t columns) {
  const std::int64_t leaves = rows / kTreeLeafRows + 1, row = 8 * columns + 4, temporary = 16;
  return rows * (row + temporary) + 2 * leaves * (16 * columns + static_cast<std::int64_t>(sizeof(TreeNode)));
}

#define KITH_INSTANTIATE(T)                                     \
  template SearchTree make_tree(MatrixView<const T>, Threads&); \
  template std::shared_ptr<const SearchTree> tree_of(const HeldRows<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
