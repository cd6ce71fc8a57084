// Distances other than Euclidean by their definition (core/numbers/distance.h), over the vector type V of kernels.h.
#pragma once

#include <cstdint>

#include "core/numbers/measure.h"

namespace kith::cpu {

template <class V, Measure M>
struct Measures {
  using D = typename V::D;

  /// D by the definition: its 32 accumulators are 32 / V::doubles vectors; the first steps of the tree join whole
  /// vectors.
  template <class T>
  static double distance(const T* x, const double* c, std::int64_t d) {
    constexpr int kVectors = 32 / V::doubles;
    D lane[kVectors];
    for (int v = 0; v < kVectors; ++v) lane[v] = V::zero_d();
    std::int64_t j = 0;
    for (; j + 32 <= d; j += 32) {
      for (int v = 0; v < kVectors; ++v) {
        lane[v] = accumulate(V::load_d(x + j + v * V::doubles), V::load_d(c + j + v * V::doubles), lane[v]);
      }
    }
    for (int v = 0; j < d; ++v, j += V::doubles) {  // missing columns are zero
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

}  // namespace kith::cpu
