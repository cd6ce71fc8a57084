// The search of a k-d tree for a group of queries, over a vector type V: J. Friedman, J. Bentley, R. Finkel: An
// algorithm for finding best matches in logarithmic expected time (1977), with a query in each vector lane.
//
// Lists are ranked by distances of the definition. The bound of a node is the definition's D of the
// query and the point of the box that is nearest to it: every operation of D is rounded monotonically, so D of a row in
// the box is not smaller, with all rounding included. Rows of float32 are screened in float32 first: a row whose
// distance in float32 is above a limit with a margin (narrow_limit()) is not within the limit. V is that of kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

/// What does not depend on the type of rows. Columns: their number, or 0 for any.
template <class V, Measure M, int Columns>
struct TreeBounds {
  using D = typename V::D;
  static constexpr int kVectors = kTreeQueries / V::doubles;
  static constexpr unsigned kAll = (1U << V::doubles) - 1;

  static std::int64_t columns(const TreeView& tree) { return Columns > 0 ? Columns : tree.columns; }
  static void load(const double* from, D* to) {
    for (int v = 0; v < kVectors; ++v) to[v] = V::load_d(from + v * V::doubles);
  }

  /// The term of a column: the difference of the queries and the points of a box that are nearest to them.
  struct BoxTerm {
    const double* queries;
    const double* low;
    const double* high;
    [[gnu::always_inline]] D operator()(std::int64_t j, int v) const {
      const D query = V::load_d(queries + j * kTreeQueries + v * V::doubles);
      const D below = V::subtract_d(V::broadcast_d(low[j]), query),
              above = V::subtract_d(query, V::broadcast_d(high[j]));
      return V::maximum_d(V::maximum_d(below, above), V::zero_d());
    }
  };

  /// sum = accumulator Lane of the tree of the definition before its step below Width (core/neighbors/tree_order.h).
  /// Requires Lane < d: a missing accumulator is 0, and adding it changes nothing.
  template <int Lane, int Width, class Term>
  [[gnu::always_inline]] static inline void walk(const Term& term, std::int64_t d, D (&sum)[kVectors]) {
    if constexpr (Width == 32) {
      for (int v = 0; v < kVectors; ++v) sum[v] = first_term(term(Lane, v));
      if constexpr (Columns == 0) {
        for (std::int64_t j = Lane + 32; j < d; j += 32) {
          for (int v = 0; v < kVectors; ++v) sum[v] = add_term(term(j, v), sum[v]);
        }
      }
    } else {
      walk<Lane, 2 * Width>(term, d, sum);
      if constexpr (Columns == 0 || Lane + Width < Columns) {
        if (Lane + Width >= d) return;
        D other[kVectors];
        walk<Lane + Width, 2 * Width>(term, d, other);
        for (int v = 0; v < kVectors; ++v) sum[v] = join(sum[v], other[v]);
      }
    }
  }
  static D first_term(D t) { return M == Measure::squared_euclidean ? V::multiply_d(t, t) : V::absolute_d(t); }
  static D add_term(D t, D sum) {
    return M == Measure::squared_euclidean ? V::multiply_add_d(t, t, sum) : join(sum, V::absolute_d(t));
  }
  static D join(D a, D b) { return M == Measure::chebyshev ? V::maximum_d(a, b) : V::add_d(a, b); }

  /// Whether a node may have relevant rows.
  [[gnu::noinline]] static bool is_relevant(const TreeView& tree, TreeGroup& group, std::int32_t number) {
    const std::int64_t d = columns(tree);
    const double* low = tree.boxes + 2 * d * number;
    D bound[kVectors], limit[kVectors];
    walk<0, 1>(BoxTerm{group.queries, low, low + d}, d, bound);
    load(group.limit, limit);
    ++group.visited;
    unsigned within = 0, below = 0;
    for (int v = 0; v < kVectors; ++v) {
      within |= V::not_above_d(bound[v], limit[v]);
      below |= ~V::not_above_d(limit[v], bound[v]);
    }
    if (within == 0 || (below & kAll) != 0) return within != 0;
    for (int v = 0; v < kVectors; ++v) {  // ties only
      if (ties(group, v, V::not_above_d(bound[v], limit[v]), limit[v], tree.nodes[number].lowest) != 0) return true;
    }
    return false;
  }

  /// The lanes of a mask to which a tie of this number is relevant.
  static unsigned ties(const TreeGroup& group, int v, unsigned mask, D limit, std::int32_t number) {
    const D tie_limit = V::load_d(group.tie_limit + v * V::doubles), row = V::load_d(group.tie_row + v * V::doubles);
    return mask & ~(V::not_above_d(tie_limit, limit) & V::not_above_d(row, V::broadcast_d(number)));
  }
};

/// Row: float or double, the type of the tree's rows.
template <class V, Measure M, class Row, int Columns>
struct TreeSearch : TreeBounds<V, M, Columns> {
  using Bounds = TreeBounds<V, M, Columns>;
  using Bounds::columns, Bounds::is_relevant, Bounds::kAll, Bounds::kVectors, Bounds::load, Bounds::ties;
  using typename Bounds::D;
  using F = typename V::F;
  static constexpr bool kNarrow = sizeof(Row) == sizeof(float) && M == Measure::squared_euclidean;
  static constexpr int kNarrowVectors = kTreeQueries / V::floats;

  static void search(const TreeView& tree, TreeGroup& group) {
    if constexpr (kNarrow) {
      for (int v = 0; v < kVectors; ++v) set_narrow_limit(tree, group, v);
    }
    for (std::int64_t s = 0; s < group.seed_count; ++s) scan(tree, group, tree.nodes[group.seeds[s]]);
    std::int32_t stack[kTreeMaxDepth];
    int waiting = 0;
    stack[waiting++] = 0;
    while (waiting > 0) {
      const std::int32_t number = stack[--waiting];
      const TreeNode& node = tree.nodes[number];
      if (is_superseded(group, node)) continue;
      if (!is_relevant(tree, group, number)) continue;
      if (node.column < 0) {
        if (!is_seed(group, number)) scan(tree, group, node);
      } else {
        const bool first_is_nearer = group.center[node.column] <= node.split;
        stack[waiting++] = first_is_nearer ? node.second : number + 1;
        stack[waiting++] = first_is_nearer ? number + 1 : node.second;
      }
    }
  }

  static void drain(TreeGroup& group) {
    D limit[kVectors];
    load(group.limit, limit);
    for (std::int64_t entry = 0; entry < group.log_size; ++entry) {
      const double* logged = group.logged + entry * kTreeQueries;
      for (int v = 0; v < kVectors; ++v) {
        unsigned mask = V::not_above_d(V::load_d(logged + v * V::doubles), limit[v]);
        for (; mask != 0; mask &= mask - 1) {
          const int lane = v * V::doubles + __builtin_ctz(mask);
          group.hits[lane * group.hit_capacity + group.hit_count[lane]++] = {logged[lane], group.logged_row[entry]};
        }
      }
    }
    group.log_size = 0;
  }

 private:
  /// Whether k rows have the distances of all rows of a node, and lower numbers.
  static bool is_superseded(const TreeGroup& group, const TreeNode& node) {
    return group.neighbors > 0 && node.equal_before >= group.neighbors;
  }
  static bool is_seed(const TreeGroup& group, std::int32_t number) {
    bool found = false;
    for (std::int64_t s = 0; s < group.seed_count; ++s) found |= group.seeds[s] == number;
    return found;
  }

  /// The term of a column: the difference of a row and the queries.
  struct RowTerm {
    const double* queries;
    const Row* row;
    [[gnu::always_inline]] D operator()(std::int64_t j, int v) const {
      return V::subtract_d(V::broadcast_d(static_cast<double>(row[j])),
                           V::load_d(queries + j * kTreeQueries + v * V::doubles));
    }
  };

  [[gnu::noinline]] static void scan(const TreeView& tree, TreeGroup& group, const TreeNode& node) {
    const std::int64_t d = columns(tree);
    const Row* row = rows_of(tree) + node.first * d;
    for (std::int32_t position = node.first; position < node.last; ++position, row += d) {
      if constexpr (kNarrow) {
        if (is_narrowly_outside(group, row, d)) continue;
      }
      D distance[kVectors];
      Bounds::template walk<0, 1>(RowTerm{group.queries, row}, d, distance);
      unsigned within = 0;
      for (int v = 0; v < kVectors; ++v) within |= V::not_above_d(distance[v], V::load_d(group.limit + v * V::doubles));
      if (within != 0) add(tree, group, distance, tree.numbers[position]);
    }
    group.distances += node.last - node.first;
  }

  static const Row* rows_of(const TreeView& tree) {
    if constexpr (sizeof(Row) == sizeof(float)) {
      return tree.narrow_rows;
    } else {
      return tree.wide_rows;
    }
  }

  /// Whether float32 proves that a row is above the limits of all lanes.
  [[gnu::always_inline]] static inline bool is_narrowly_outside(const TreeGroup& group, const Row* row,
                                                                std::int64_t d) {
    constexpr std::int64_t kChecked = 8;  // columns after which the sums are compared with the limits
    F sum[kNarrowVectors];
    for (int v = 0; v < kNarrowVectors; ++v) sum[v] = V::zero();
    for (std::int64_t first = 0; first < d; first += kChecked) {
      const std::int64_t last = Columns > 0 ? Columns : (first + kChecked < d ? first + kChecked : d);
      for (std::int64_t j = first; j < last; ++j) {
        const F x = V::broadcast(row + j);
        for (int v = 0; v < kNarrowVectors; ++v) {
          const F t = V::subtract(x, V::load(group.narrow_queries + j * kTreeQueries + v * V::floats));
          sum[v] = V::multiply_add(t, t, sum[v]);
        }
      }
      unsigned within = 0;
      for (int v = 0; v < kNarrowVectors; ++v)
        within |= V::not_greater(sum[v], V::load(group.narrow_limit + v * V::floats));
      if (within == 0) return true;
    }
    return false;
  }

  /// Sets the limits of a vector of lanes for distances in float32. With rounded queries q~ and e = |q - q~|, the
  /// root of D grows by at most e; each column adds at most five relative roundings, and underflow.
  static void set_narrow_limit(const TreeView& tree, TreeGroup& group, int v) {
    const auto d = static_cast<double>(tree.columns);
    D limit = V::load_d(group.limit + v * V::doubles);
    if (group.is_rounded) {
      const D root = V::add_d(V::root_d(V::maximum_d(limit, V::zero_d())), V::load_d(group.rounding + v * V::doubles));
      limit = V::maximum_d(limit, V::multiply_d(root, root));  // of a lane without a query: at least that of a row
    }
    const D above = V::multiply_d(limit, V::broadcast_d(1 + (5 * d + 16) * 0x1p-24));
    V::store_floats(group.narrow_limit + v * V::doubles, V::add_d(above, V::broadcast_d((d + 4) * 0x1p-147)));
  }

  /// Logs a row if it is relevant to a lane, and lowers limits.
  [[gnu::noinline]] static void add(const TreeView& tree, TreeGroup& group, const D (&distance)[kVectors],
                                    std::int32_t number) {
    unsigned relevant = 0;
    for (int v = 0; v < kVectors; ++v) {
      double* own_limit = group.limit + v * V::doubles;
      const D limit = V::load_d(own_limit);
      const unsigned within = V::not_above_d(distance[v], limit), below = ~V::not_above_d(limit, distance[v]) & kAll;
      relevant |= below;
      if (within != below) relevant |= ties(group, v, within & ~below, limit, number);
      V::store_d(group.logged + group.log_size * kTreeQueries + v * V::doubles, distance[v]);
      if (below != 0 && group.nearest != nullptr) {
        V::store_d(own_limit, insert(group.nearest + v * V::doubles, group.neighbors, distance[v]));
        if constexpr (kNarrow) set_narrow_limit(tree, group, v);
      }
    }
    if (relevant == 0) return;
    group.logged_row[group.log_size++] = number;
    if (group.log_size == group.log_capacity) fill(tree, group);
  }

  static void fill(const TreeView& tree, TreeGroup& group) {
    group.on_full(group.owner);
    if constexpr (kNarrow) {
      for (int v = 0; v < kVectors; ++v) set_narrow_limit(tree, group, v);
    }
  }

  /// Inserts a value into the sorted values of each lane and returns the largest that remain.
  static D insert(double* nearest, std::int64_t count, D value) {
    double* at = nearest + (count - 1) * kTreeQueries;
    D here = V::load_d(at), largest = here;
    for (std::int64_t i = count - 1; i > 0; --i, at -= kTreeQueries) {
      const D before = V::load_d(at - kTreeQueries), now = V::minimum_d(here, V::maximum_d(before, value));
      V::store_d(at, now);
      if (i == count - 1) largest = now;
      here = before;
    }
    here = V::minimum_d(here, value);
    V::store_d(at, here);
    return count == 1 ? here : largest;
  }
};

template <class V, class Row>
constexpr TreeKernels::OfRows<Row> tree_kernels_of_rows() {
  constexpr Measure kSquared = Measure::squared_euclidean;
  return {.euclidean = {TreeSearch<V, kSquared, Row, 0>::search, TreeSearch<V, kSquared, Row, 1>::search,
                        TreeSearch<V, kSquared, Row, 2>::search, TreeSearch<V, kSquared, Row, 3>::search,
                        TreeSearch<V, kSquared, Row, 4>::search, TreeSearch<V, kSquared, Row, 5>::search,
                        TreeSearch<V, kSquared, Row, 6>::search, TreeSearch<V, kSquared, Row, 7>::search,
                        TreeSearch<V, kSquared, Row, 8>::search},
          .manhattan = TreeSearch<V, Measure::manhattan, Row, 0>::search,
          .chebyshev = TreeSearch<V, Measure::chebyshev, Row, 0>::search};
}

template <class V>
constexpr TreeKernels tree_kernels_of() {
  return {.narrow = tree_kernels_of_rows<V, float>(),
          .wide = tree_kernels_of_rows<V, double>(),
          .drain = TreeSearch<V, Measure::squared_euclidean, double, 1>::drain};
}

}  // namespace kith::cpu
