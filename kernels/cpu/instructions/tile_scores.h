// What becomes of a tile of products, over the vector type V of kernels.h: leaders, columns within limits, minima.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

template <class V>
struct TileScores {
  using F = typename V::F;
  static constexpr int kLanes = V::panel * V::floats;

  static void errors(const PanelNorms& norms, const TileError& of_tile, float* error) {
    for (int lane = 0; lane < kLanes; lane += V::floats) {
      const F residual = V::load(norms.residual + lane), norm = V::add(V::load(norms.norm + lane), residual);
      const F slope = V::multiply_add(norm, V::broadcast(&of_tile.quadratic), V::broadcast(&of_tile.linear));
      const F constant =
          V::multiply_add(residual, V::broadcast(&of_tile.per_residual), V::broadcast(&of_tile.constant));
      V::store(error + lane, V::multiply_add(norm, slope, constant));
    }
  }

  /// One run of columns; kAll: kWinnerColumns of them, so that the marks are constants.
  template <bool kAll>
  static F run_winner(const float* tile, const float* half_sq_norm, int count, F& runner_up) {
    const auto score = [&](int c) {
      return V::marked(V::subtract(V::load(tile + c * kLanes), V::broadcast(half_sq_norm + c)), V::mark(c));
    };
    const int columns = kAll ? kWinnerColumns : count;
    F winner = score(0);
    if (columns == 1) return winner;
    F challenger = score(1);
    F second = V::minimum(winner, challenger);  // of this run: runs do not wait for each other
    winner = V::maximum(winner, challenger);
#pragma GCC unroll 16
    for (int c = 2; c < columns; ++c) {
      challenger = score(c);
      second = V::maximum(second, V::minimum(winner, challenger));
      winner = V::maximum(winner, challenger);
    }
    runner_up = V::maximum(runner_up, second);
    return winner;
  }

  static void lead(const float* tile, const float* half_sq_norm, std::int64_t count, const float* error,
                   Leaders leaders) {
    const float lowest = -__builtin_inff();
    for (int p = 0; p < V::panel; ++p) {
      const int at = p * V::floats;
      const F e = V::load(error + at);
      F first = V::load(leaders.first + at), second = V::load(leaders.second + at);
      F best = V::broadcast(&lowest), runner_up = best;  // of this tile
      for (std::int64_t c = 0; c < count; c += kWinnerColumns) {
        const float* run = tile + c * kLanes + at;
        const F winner = count - c >= kWinnerColumns
                             ? run_winner<true>(run, half_sq_norm + c, kWinnerColumns, runner_up)
                             : run_winner<false>(run, half_sq_norm + c, static_cast<int>(count - c), runner_up);
        best = V::maximum(best, winner);
        const F at_most = V::marked_as(V::add(winner, e), winner);
        V::store(leaders.winners + c / kWinnerColumns * kLanes + at, at_most);
        second = V::maximum(second, V::minimum(first, at_most));
        first = V::maximum(first, at_most);
      }
      V::store(leaders.first + at, first);
      V::store(leaders.second + at, second);
      V::store(leaders.surest + at, V::maximum(V::load(leaders.surest + at), V::subtract(best, e)));
      V::store(leaders.runner_up + at, V::maximum(V::load(leaders.runner_up + at), V::add(runner_up, e)));
    }
  }

  static std::int64_t within(const float* tile, const float* half_sq_norm, std::int64_t count, const float* limit,
                             Hit* hits) {
    F highest[V::panel];
#pragma GCC unroll 8
    for (int p = 0; p < V::panel; ++p) highest[p] = V::load(limit + p * V::floats);
    Hit* out = hits;
    for (std::int64_t c = 0; c < count; ++c) {
      const F h = V::broadcast(half_sq_norm + c);
      std::uint64_t lanes = 0;  // one test for all of them: hits are rare
#pragma GCC unroll 8
      for (int p = 0; p < V::panel; ++p) {
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

  static void minima(const float* tile, const float* half_sq_norm, std::int64_t count, float* smallest) {
    for (std::int64_t first = 0; first < count; first += kWinnerColumns, smallest += kLanes) {
      const std::int64_t last = first + kWinnerColumns < count ? first + kWinnerColumns : count;
      for (int p = 0; p < V::panel; ++p) {
        const float* at = tile + p * V::floats;
        F least = V::subtract(V::broadcast(half_sq_norm + first), V::load(at + first * kLanes));
        for (std::int64_t c = first + 1; c < last; ++c)
          least = V::minimum(least, V::subtract(V::broadcast(half_sq_norm + c), V::load(at + c * kLanes)));
        V::store(smallest + p * V::floats, least);
      }
    }
  }

  /// By halving the interval that holds it.
  static void bound(const float* minima, std::int64_t runs, std::int64_t k, float* limit) {
    constexpr int kHalvings = 12;
    float low[kLanes], middle[kLanes];
    std::int32_t below[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) low[lane] = limit[lane] = minima[lane];
    for (std::int64_t run = 1; run < runs; ++run) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = minima[run * kLanes + lane];
        low[lane] = value < low[lane] ? value : low[lane];
        limit[lane] = value > limit[lane] ? value : limit[lane];
      }
    }
    for (int halving = 0; halving < kHalvings; ++halving) {
      for (int lane = 0; lane < kLanes; ++lane) {
        middle[lane] = low[lane] + (limit[lane] - low[lane]) / 2;
        below[lane] = 0;
      }
      for (std::int64_t run = 0; run < runs; ++run) {
        for (int lane = 0; lane < kLanes; ++lane) below[lane] += minima[run * kLanes + lane] <= middle[lane];
      }
      for (int lane = 0; lane < kLanes; ++lane) (below[lane] >= k ? limit : low)[lane] = middle[lane];
    }
  }
};

template <class V>
constexpr ScoreKernels score_kernels_of() {
  using S = TileScores<V>;
  return {.errors = S::errors, .lead = S::lead, .within = S::within, .minima = S::minima, .bound = S::bound};
}

}  // namespace kith::cpu
