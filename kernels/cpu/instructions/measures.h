// Distances by their definition (core/numbers/distance.h), and sums of their roots, over the vector type V of
// kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

/// Distances by their definition (core/numbers/distance.h).
template <class V, Measure M>
struct Measures {
  using D = typename V::D;

  /// The 32 accumulators are 32 / V::doubles vectors; the first steps of the tree join whole vectors.
  template <class T>
  static double distance(const T* x, const double* c, std::int64_t d) {
    if constexpr (M == Measure::squared_euclidean) {
      if (d <= V::doubles) {  // one vector holds all accumulators that are not zero
        const D t = V::subtract_d(V::load_first_d(x, static_cast<int>(d)), V::load_first_d(c, static_cast<int>(d)));
        return V::tree_d(V::multiply_d(t, t));
      }
    }
    constexpr int kVectors = 32 / V::doubles;
    D lane[kVectors];
    for (int v = 0; v < kVectors; ++v) lane[v] = V::zero_d();
    std::int64_t j = 0;
    for (; j + 32 <= d; j += 32) {
      for (int v = 0; v < kVectors; ++v) {
        lane[v] = accumulate(V::load_d(x + j + v * V::doubles), V::load_d(c + j + v * V::doubles), lane[v]);
      }
    }
    for (int v = 0; j < d; ++v, j += V::doubles) {  // missing columns count as zeros
      const int left = static_cast<int>(d - j < V::doubles ? d - j : V::doubles);
      lane[v] = accumulate(V::load_first_d(x + j, left), V::load_first_d(c + j, left), lane[v]);
    }
    for (int w = kVectors / 2; w > 0; w /= 2) {
      for (int v = 0; v < w; ++v) lane[v] = join(lane[v], lane[v + w]);
    }
    if constexpr (M == Measure::chebyshev) {
      double largest = 0.0;
      for (int l = 0; l < V::doubles; ++l) largest = lane[0][l] > largest ? lane[0][l] : largest;
      return largest;
    } else {
      return M == Measure::inner_product ? 0.0 - V::tree_d(lane[0]) : V::tree_d(lane[0]);
    }
  }

 private:
  static D accumulate(D x, D c, D lane) {
    if constexpr (M == Measure::inner_product) {
      return V::multiply_add_d(x, c, lane);
    } else if constexpr (M == Measure::squared_euclidean) {
      const D t = V::subtract_d(x, c);
      return V::multiply_add_d(t, t, lane);
    } else {
      return join(lane, V::absolute_d(V::subtract_d(x, c)));
    }
  }
  static D join(D a, D b) {
    if constexpr (M == Measure::chebyshev) {
      return V::maximum_d(a, b);
    } else {
      return V::add_d(a, b);
    }
  }
};

/// Sums of distances (not squared) by the definition, as integers: the inner loop of statistics/cluster_distances.cpp.
/// A vector lane is a query; each value of a row is broadcast to all lanes. The tree of the definition is walked depth
/// first (core/neighbors/tree_order.h), which needs at most six partial sums per row of a group, in registers. A panel
/// of queries of one vector stays in the first-level cache, and a group of rows uses each of its values several times.
/// A distance takes d subtractions, d multiply-adds, at most 31 additions and a square root. V also has root_d.
template <class V>
struct RootSums {
  using D = typename V::D;
  using I = typename V::I;
  static constexpr int kQueries = V::doubles;
  static constexpr int kRows = V::doubles == 8 ? 4 : 2;  // of a group: six partial sums each fit the registers

  static void add(const double* panel, const double* groups, std::int64_t count, std::int64_t d, FixedScale scale,
                  std::int64_t* sums) {
    const D first = V::broadcast_d(scale.first), second = V::broadcast_d(scale.second);
    I total = V::load_i(sums);
    for (std::int64_t r = 0; r < count; r += kRows) {
      D sum[kRows];
      const double* query = panel;
      walk<0, 1>(query, groups, d, sum);
      for (int i = 0; i < kRows && r + i < count; ++i) {
        const D scaled = V::multiply_d(V::multiply_d(V::root_d(sum[i]), first), second);
        total = V::add_i(total, V::nearest_i(scaled));
      }
    }
    V::store_i(sums, total);
  }

 private:
  /// sum[i] = accumulator Lane of the tree before its step below Width, for row i of the group. Advances query and
  /// group past the columns that it reads. Requires Lane < d: a missing accumulator is 0, and adding it changes
  /// nothing.
  template <int Lane, int Width>
  [[gnu::always_inline]] static inline void walk(const double*& query, const double*& group, std::int64_t d,
                                                 D (&sum)[kRows]) {
    if constexpr (Width == 32) {
      for (int i = 0; i < kRows; ++i) {
        const D t = difference(query, group, i);
        sum[i] = V::multiply_d(t, t);
      }
      query += kQueries, group += kRows;
      for (std::int64_t j = Lane + 32; j < d; j += 32, query += kQueries, group += kRows) {
        for (int i = 0; i < kRows; ++i) {
          const D t = difference(query, group, i);
          sum[i] = V::multiply_add_d(t, t, sum[i]);
        }
      }
    } else {
      walk<Lane, 2 * Width>(query, group, d, sum);
      if (Lane + Width >= d) return;
      D other[kRows];
      walk<Lane + Width, 2 * Width>(query, group, d, other);
      for (int i = 0; i < kRows; ++i) sum[i] = V::add_d(sum[i], other[i]);
    }
  }

  [[gnu::always_inline]] static inline D difference(const double* query, const double* group, int i) {
    return V::subtract_d(V::load_d(query), V::broadcast_d(group[i]));
  }
};

}  // namespace kith::cpu
