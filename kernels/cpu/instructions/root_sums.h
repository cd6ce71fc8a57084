// Sums of distances (not squared) by the definition, as integers: the inner loop of statistics/cluster_distances.cpp
// over a vector type V.
//
// A vector lane is a query; each row is broadcast to all lanes. The tree of the definition is walked depth first
// (core/tree_order.h), which needs only a few partial sums per query, in registers. A distance takes d subtractions, d
// multiply-adds, at most 31 additions and a square root. V is that of kernels.h, and also has root_d.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

template <class V>
struct RootSums {
  using D = typename V::D;
  using I = typename V::I;
  static constexpr int kVectors = V::doubles == 8 ? 4 : 2;  // at most six partial sums per vector fit the registers
  static constexpr int kQueries = kVectors * V::doubles;

  static void add(const double* queries, const double* rows, std::int64_t count, std::int64_t d, FixedScale scale,
                  std::int64_t* sums) {
    const D first = V::broadcast_d(scale.first), second = V::broadcast_d(scale.second);
    for (std::int64_t r = 0; r < count; ++r, rows += d) {
      D sum[kVectors];
      const double* query = queries;
      const double* row = rows;
      walk<0, 1>(query, row, d, sum);
      for (int v = 0; v < kVectors; ++v) {
        std::int64_t* at = sums + v * V::doubles;
        const D scaled = V::multiply_d(V::multiply_d(V::root_d(sum[v]), first), second);
        V::store_i(at, V::add_i(V::load_i(at), V::nearest_i(scaled)));
      }
    }
  }

 private:
  /// sum = accumulator Lane of the tree before its step below Width. Advances query and row past the columns that it
  /// reads. Requires Lane < d: a missing accumulator is 0, and adding it changes nothing.
  template <int Lane, int Width>
  [[gnu::always_inline]] static inline void walk(const double*& query, const double*& row, std::int64_t d,
                                                 D (&sum)[kVectors]) {
    if constexpr (Width == 32) {
      for (int v = 0; v < kVectors; ++v) {
        const D t = difference(query, row, v);
        sum[v] = V::multiply_d(t, t);
      }
      query += kQueries, ++row;
      for (std::int64_t j = Lane + 32; j < d; j += 32, query += kQueries, ++row) {
        for (int v = 0; v < kVectors; ++v) {
          const D t = difference(query, row, v);
          sum[v] = V::multiply_add_d(t, t, sum[v]);
        }
      }
    } else {
      walk<Lane, 2 * Width>(query, row, d, sum);
      if (Lane + Width >= d) return;
      D other[kVectors];
      walk<Lane + Width, 2 * Width>(query, row, d, other);
      for (int v = 0; v < kVectors; ++v) sum[v] = V::add_d(sum[v], other[v]);
    }
  }

  [[gnu::always_inline]] static inline D difference(const double* query, const double* row, int v) {
    return V::subtract_d(V::load_d(query + v * V::doubles), V::broadcast_d(*row));
  }
};

}  // namespace kith::cpu
