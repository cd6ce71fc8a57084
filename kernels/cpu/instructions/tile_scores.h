// Operations on the scores of a tile of products (ScoreKernels), over the vector type V of kernels.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

template <class V>
struct TileScores {
  using F = typename V::F;
  static constexpr int kLanes = V::panel_vectors * V::floats;

  static void errors(const PanelNorms& norms, const TileError& of_tile, float* error) {
    for (int lane = 0; lane < kLanes; lane += V::floats) {
      const F residual = V::load(norms.residual + lane), norm = V::add(V::load(norms.norm + lane), residual);
      const F slope = V::multiply_add(norm, V::broadcast(&of_tile.quadratic), V::broadcast(&of_tile.linear));
      const F constant =
          V::multiply_add(residual, V::broadcast(&of_tile.per_residual), V::broadcast(&of_tile.constant));
      V::store(error + lane, V::multiply_add(norm, slope, constant));
    }
  }

  /// The best score of a group of columns. kAll: the group has kGroupColumns columns, so that the marks are constants.
  template <bool kAll>
  static F best_of_group(const float* tile, const float* half_sq_norm, int count, F& others_upper) {
    const auto score = [&](int c) {
      return V::marked(V::subtract(V::load(tile + c * kLanes), V::broadcast(half_sq_norm + c)), V::mark(c));
    };
    const int columns = kAll ? kGroupColumns : count;
    F best = score(0);
    if (columns == 1) return best;
    F challenger = score(1);
    F second = V::minimum(best, challenger);  // of this group: groups stay independent
    best = V::maximum(best, challenger);
#pragma GCC unroll 16
    for (int c = 2; c < columns; ++c) {
      challenger = score(c);
      second = V::maximum(second, V::minimum(best, challenger));
      best = V::maximum(best, challenger);
    }
    others_upper = V::maximum(others_upper, second);
    return best;
  }

  static void update_best(const float* tile, const float* half_sq_norm, std::int64_t count, const float* error,
                          BestScores scores) {
    const float lowest = -__builtin_inff();
    for (int p = 0; p < V::panel_vectors; ++p) {
      const int at = p * V::floats;
      const F e = V::load(error + at);
      F first = V::load(scores.best_upper + at), second = V::load(scores.second_upper + at);
      F tile_best = V::broadcast(&lowest), others_upper = tile_best;
      for (std::int64_t c = 0; c < count; c += kGroupColumns) {
        const float* group = tile + c * kLanes + at;
        const F best = count - c >= kGroupColumns
                           ? best_of_group<true>(group, half_sq_norm + c, kGroupColumns, others_upper)
                           : best_of_group<false>(group, half_sq_norm + c, static_cast<int>(count - c), others_upper);
        tile_best = V::maximum(tile_best, best);
        const F upper = V::marked_as(V::add(best, e), best);
        V::store(scores.group_best + c / kGroupColumns * kLanes + at, upper);
        second = V::maximum(second, V::minimum(first, upper));
        first = V::maximum(first, upper);
      }
      V::store(scores.best_upper + at, first);
      V::store(scores.second_upper + at, second);
      V::store(scores.best_lower + at, V::maximum(V::load(scores.best_lower + at), V::subtract(tile_best, e)));
      V::store(scores.others_upper + at, V::maximum(V::load(scores.others_upper + at), V::add(others_upper, e)));
    }
  }

  static std::int64_t collect(const float* tile, const float* half_sq_norm, std::int64_t count, const float* limit,
                              Hit* hits) {
    F highest[V::panel_vectors];
#pragma GCC unroll 8
    for (int p = 0; p < V::panel_vectors; ++p) highest[p] = V::load(limit + p * V::floats);
    Hit* out = hits;
    for (std::int64_t c = 0; c < count; ++c) {
      const F h = V::broadcast(half_sq_norm + c);
      std::uint64_t lanes = 0;  // one test per column: hits are rare
#pragma GCC unroll 8
      for (int p = 0; p < V::panel_vectors; ++p) {
        const F score = V::subtract(h, V::load(tile + c * kLanes + p * V::floats));
        lanes |= static_cast<std::uint64_t>(V::not_greater(score, highest[p])) << (p * V::floats);
      }
      for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = __builtin_ctzll(lanes);
        *out++ = {half_sq_norm[c] - tile[c * kLanes + lane], static_cast<std::int32_t>(c), lane};
      }
    }
    return out - hits;
  }

  static void group_minima(const float* tile, const float* half_sq_norm, std::int64_t count, float* smallest) {
    for (std::int64_t first = 0; first < count; first += kGroupColumns, smallest += kLanes) {
      const std::int64_t last = first + kGroupColumns < count ? first + kGroupColumns : count;
      for (int p = 0; p < V::panel_vectors; ++p) {
        const float* at = tile + p * V::floats;
        F least = V::subtract(V::broadcast(half_sq_norm + first), V::load(at + first * kLanes));
        for (std::int64_t c = first + 1; c < last; ++c)
          least = V::minimum(least, V::subtract(V::broadcast(half_sq_norm + c), V::load(at + c * kLanes)));
        V::store(smallest + p * V::floats, least);
      }
    }
  }

  /// By bisection.
  static void kth_limit(const float* minima, std::int64_t groups, std::int64_t k, float* limit) {
    constexpr int kBisections = 12;
    float low[kLanes], middle[kLanes];
    std::int32_t below[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) low[lane] = limit[lane] = minima[lane];
    for (std::int64_t group = 1; group < groups; ++group) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = minima[group * kLanes + lane];
        low[lane] = value < low[lane] ? value : low[lane];
        limit[lane] = value > limit[lane] ? value : limit[lane];
      }
    }
    for (int i = 0; i < kBisections; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        middle[lane] = low[lane] + (limit[lane] - low[lane]) / 2;
        below[lane] = 0;
      }
      for (std::int64_t group = 0; group < groups; ++group) {
        for (int lane = 0; lane < kLanes; ++lane) below[lane] += minima[group * kLanes + lane] <= middle[lane];
      }
      for (int lane = 0; lane < kLanes; ++lane) (below[lane] >= k ? limit : low)[lane] = middle[lane];
    }
  }

  static void root_sums(const float* tile, const float* half_sq_norm, std::int64_t count, const float* low,
                        const float* high, float* lower, float* upper) {
    const float nothing = 0.0F;
    const F zero = V::broadcast(&nothing);
    for (int p = 0; p < V::panel_vectors; ++p) {
      const F least = V::load(low + p * V::floats), most = V::load(high + p * V::floats);
      F below = zero, above = zero;
      for (std::int64_t c = 0; c < count; ++c) {
        const F score = V::subtract(V::broadcast(half_sq_norm + c), V::load(tile + c * kLanes + p * V::floats));
        below = V::add(below, V::root(V::maximum(V::add(score, least), zero)));
        above = V::add(above, V::root(V::maximum(V::add(score, most), zero)));
      }
      V::store(lower + p * V::floats, below);
      V::store(upper + p * V::floats, above);
    }
  }
};

template <class V>
constexpr ScoreKernels score_kernels_of() {
  using S = TileScores<V>;
  return {S::errors, S::update_best, S::collect, S::group_minima, S::kth_limit, S::root_sums};
}

}  // namespace kith::cpu
