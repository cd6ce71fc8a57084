// The inner loops of the CPU backend, written once over a vector type V that each instruction set supplies.
//
// V has: F (floats), D (doubles, V::doubles of them), floats, and the operations used below. A row panel is
// V::panel_vectors vectors wide and a column panel V::panel_columns columns, so that the accumulators of their product
// stay in registers (the register tile of K. Goto, R. van de Geijn: Anatomy of high-performance matrix multiplication,
// 2008).
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/instructions/measures.h"
#include "kernels/cpu/instructions/narrow.h"
#include "kernels/cpu/instructions/tree.h"

namespace kith::cpu {

namespace {

/// What instruction sets with fused multiply-add share. Internal linkage: each set is compiled with its own -m flags.
struct FusedScalars {
  template <class T>
  static float centred_one(T x, double scale, float center) {
    return __builtin_fmaf(static_cast<float>(x), static_cast<float>(scale), -center);
  }
  static float centred_one(double x, double scale, float center) {
    return static_cast<float>(x * scale - static_cast<double>(center));
  }
};

}  // namespace

/// Operations on the scores of a tile of products (ScoreKernels).
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

  /// The best score of a column block. kAll: the column block has kColumnBlock columns, so that the marks are
  /// constants.
  template <bool kAll>
  static F best_of_block(const float* tile, const float* half_sq_norm, int count, F& others_upper) {
    const auto score = [&](int c) {
      return V::marked(V::subtract(V::load(tile + c * kLanes), V::broadcast(half_sq_norm + c)), V::mark(c));
    };
    const int columns = kAll ? kColumnBlock : count;
    F best = score(0);
    if (columns == 1) return best;
    F challenger = score(1);
    F second = V::minimum(best, challenger);  // of this column block: column blocks stay independent
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
      for (std::int64_t c = 0; c < count; c += kColumnBlock) {
        const float* column_block = tile + c * kLanes + at;
        const F best =
            count - c >= kColumnBlock
                ? best_of_block<true>(column_block, half_sq_norm + c, kColumnBlock, others_upper)
                : best_of_block<false>(column_block, half_sq_norm + c, static_cast<int>(count - c), others_upper);
        tile_best = V::maximum(tile_best, best);
        const F upper = V::marked_as(V::add(best, e), best);
        V::store(scores.block_best + c / kColumnBlock * kLanes + at, upper);
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

  static void block_minima(const float* tile, const float* half_sq_norm, std::int64_t count, float* smallest) {
    for (std::int64_t first = 0; first < count; first += kColumnBlock, smallest += kLanes) {
      const std::int64_t last = first + kColumnBlock < count ? first + kColumnBlock : count;
      for (int p = 0; p < V::panel_vectors; ++p) {
        const float* at = tile + p * V::floats;
        F least = V::subtract(V::broadcast(half_sq_norm + first), V::load(at + first * kLanes));
        for (std::int64_t c = first + 1; c < last; ++c)
          least = V::minimum(least, V::subtract(V::broadcast(half_sq_norm + c), V::load(at + c * kLanes)));
        V::store(smallest + p * V::floats, least);
      }
    }
  }

  /// The limit is found by bisection.
  static void kth_limit(const float* minima, std::int64_t column_blocks, std::int64_t k, float* limit) {
    constexpr int kBisections = 12;
    float low[kLanes], middle[kLanes];
    std::int32_t below[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) low[lane] = limit[lane] = minima[lane];
    for (std::int64_t column_block = 1; column_block < column_blocks; ++column_block) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = minima[column_block * kLanes + lane];
        low[lane] = value < low[lane] ? value : low[lane];
        limit[lane] = value > limit[lane] ? value : limit[lane];
      }
    }
    for (int i = 0; i < kBisections; ++i) {
      for (int lane = 0; lane < kLanes; ++lane) {
        middle[lane] = low[lane] + (limit[lane] - low[lane]) / 2;
        below[lane] = 0;
      }
      for (std::int64_t column_block = 0; column_block < column_blocks; ++column_block) {
        for (int lane = 0; lane < kLanes; ++lane) below[lane] += minima[column_block * kLanes + lane] <= middle[lane];
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
  return {S::errors, S::update_best, S::collect, S::block_minima, S::kth_limit, S::root_sums};
}

template <class V>
struct Kernels {
  using F = typename V::F;
  using D = typename V::D;
  static constexpr int kLanes = V::panel_vectors * V::floats;
  static constexpr int kPanelColumns = V::panel_columns;
  static constexpr std::int64_t kDotBlock = 256;  // columns of the points summed by one chain of multiply-adds

  /// One register tile: a row panel times a column panel, over `length` columns of the points.
  template <bool kAdd>
  static void multiply(const float* panel, const float* columns, std::int64_t length, float* tile) {
    F sum[kPanelColumns][V::panel_vectors];
    for (int r = 0; r < kPanelColumns; ++r) {
      for (int p = 0; p < V::panel_vectors; ++p) sum[r][p] = V::zero();
    }
    for (std::int64_t j = 0; j < length; ++j) {
      F x[V::panel_vectors];
      for (int p = 0; p < V::panel_vectors; ++p) x[p] = V::load(panel + j * kLanes + p * V::floats);
      for (int r = 0; r < kPanelColumns; ++r) {
        const F c = V::broadcast(columns + j * kPanelColumns + r);
        for (int p = 0; p < V::panel_vectors; ++p) sum[r][p] = V::multiply_add(x[p], c, sum[r][p]);
      }
    }
    for (int r = 0; r < kPanelColumns; ++r) {
      for (int p = 0; p < V::panel_vectors; ++p) {
        float* at = tile + r * kLanes + p * V::floats;
        V::store(at, kAdd ? V::add(V::load(at), sum[r][p]) : sum[r][p]);
      }
    }
  }

  static void products(const void* panel, const void* columns, float, std::int64_t d, std::int64_t column_panels,
                       float* tile) {
    const auto* rows = static_cast<const float*>(panel);
    for (std::int64_t j = 0; j < d; j += kDotBlock) {
      const std::int64_t length = d - j < kDotBlock ? d - j : kDotBlock;
      for (std::int64_t g = 0; g < column_panels; ++g) {
        const float* column_panel = static_cast<const float*>(columns) + (g * d + j) * kPanelColumns;
        if (j == 0) {
          multiply<false>(rows, column_panel, length, tile + g * kPanelColumns * kLanes);
        } else {
          multiply<true>(rows + j * kLanes, column_panel, length, tile + g * kPanelColumns * kLanes);
        }
      }
    }
  }

  /// A chain of kDotBlock products, then one addition per block.
  static double accumulation(std::int64_t d) {
    const std::int64_t chain = d < kDotBlock ? d : kDotBlock;
    const std::int64_t blocks = (d + kDotBlock - 1) / kDotBlock;
    return (V::roundings_per_product * static_cast<double>(chain) + static_cast<double>(blocks) + 1) * 0x1p-24 * 1.001;
  }

  template <class T>
  static void pack(const T* const* rows, std::int64_t d, double scale, const float* center, void* packed,
                   PanelNorms* norms) {
    auto* panel = static_cast<float*>(packed);
    F squares[V::panel_vectors];
    for (int p = 0; p < V::panel_vectors; ++p) squares[p] = V::zero();
    std::int64_t j = 0;
    for (; j + V::floats <= d; j += V::floats) {
      for (int p = 0; p < V::panel_vectors; ++p) {
        F block[V::floats];
        const F middle = V::load(center + j);
        for (int i = 0; i < V::floats; ++i) block[i] = V::centred(rows[p * V::floats + i] + j, scale, middle);
        V::transpose(block);
        for (int i = 0; i < V::floats; ++i) {
          V::store(panel + (j + i) * kLanes + p * V::floats, block[i]);
          squares[p] = V::multiply_add(block[i], block[i], squares[p]);
        }
      }
    }
    for (; j < d; ++j) {
      for (int lane = 0; lane < kLanes; ++lane)
        panel[j * kLanes + lane] = V::centred_one(rows[lane][j], scale, center[j]);
      for (int p = 0; p < V::panel_vectors; ++p) {
        const F x = V::load(panel + j * kLanes + p * V::floats);
        squares[p] = V::multiply_add(x, x, squares[p]);
      }
    }
    for (int p = 0; p < V::panel_vectors; ++p) {
      V::store(norms->norm + p * V::floats, V::root(squares[p]));
      V::store(norms->residual + p * V::floats, V::zero());
    }
  }

  /// Layout: [panel][j][column].
  static PackedColumns pack_columns(const float* rows, std::int64_t count, std::int64_t d, float, void* packed) {
    auto* to = static_cast<float*>(packed);
    for (std::int64_t first = 0; first < count; first += kPanelColumns, to += d * kPanelColumns) {
      for (int r = 0; r < kPanelColumns; ++r) {
        const float* from = rows + (first + r) * d;
        const bool exists = first + r < count;
        for (std::int64_t j = 0; j < d; ++j) to[j * kPanelColumns + r] = exists ? from[j] : 0.0F;
      }
    }
    return {1.0F, 0.0F};
  }

  template <class T>
  static CentredNorms centre(const T* row, std::int64_t d, double scale, const float* center, float* out) {
    const D by = V::broadcast_d(scale);
    D norm = V::zero_d(), residual = V::zero_d();
    std::int64_t j = 0;
    for (; j + V::doubles <= d; j += V::doubles) {
      const D centred = V::subtract_d(V::multiply_d(V::load_d(row + j), by), V::load_d(center + j));
      V::store_floats(out + j, centred);
      const D lost = V::subtract_d(centred, V::load_d(out + j));
      norm = V::multiply_add_d(centred, centred, norm);
      residual = V::multiply_add_d(lost, lost, residual);
    }
    CentredNorms norms{V::tree_d(norm), V::tree_d(residual)};
    for (; j < d; ++j) {
      const double centred = static_cast<double>(row[j]) * scale - static_cast<double>(center[j]);
      out[j] = static_cast<float>(centred);
      const double lost = centred - static_cast<double>(out[j]);
      norms.squared_norm += centred * centred;
      norms.squared_residual += lost * lost;
    }
    return norms;
  }

  static void to_grid(const double* values, std::int64_t count, FixedScale scale, double low_scale, std::int64_t* high,
                      std::int64_t* low) {
    const D first = V::broadcast_d(scale.first), second = V::broadcast_d(scale.second),
            limb_scale = V::broadcast_d(low_scale);
    std::int64_t i = 0;
    for (; i + V::doubles <= count; i += V::doubles) {
      const D scaled = V::multiply_d(V::multiply_d(V::load_d(values + i), first), second);
      if (low == nullptr) {
        V::store_i(high + i, V::nearest_i(scaled));
      } else {
        const D floor = V::floor_d(scaled);
        V::store_i(high + i, V::nearest_i(floor));
        V::store_i(low + i, V::nearest_i(V::multiply_d(V::subtract_d(scaled, floor), limb_scale)));
      }
    }
    for (; i < count; ++i) {
      if (low == nullptr) {
        high[i] = to_fixed(values[i], scale.first, scale.second);
      } else {
        const Limbs limbs = to_limbs(values[i], scale.first, scale.second, low_scale);
        high[i] = limbs.high;
        low[i] = limbs.low;
      }
    }
  }

  static void quantized_distances(const std::int8_t* values, const float* step, std::int64_t count, std::int64_t pitch,
                                  const float* const* queries, int asked, float* squared) {
    if (asked == 4) return quantized_distances_of<4>(values, step, count, pitch, queries, squared);
    if (asked == 2) return quantized_distances_of<2>(values, step, count, pitch, queries, squared);
    quantized_distances_of<1>(values, step, count, pitch, queries, squared);
  }

  template <class T>
  static void add_rows(const T* const* rows, std::int64_t count, std::int64_t d, GridView grid, std::int64_t* high,
                       std::int64_t* low) {
    std::int64_t j = 0;
    for (; j + V::doubles <= d; j += V::doubles) {
      add_block(rows, count, j, grid, high, low);
    }
    for (; j < d; ++j) add_one(rows, count, j, grid, high, low);
  }

  template <class T>
  static void add_magnitudes(const T* values, std::int64_t count, GridView grid, const MagnitudeView& out) {
    const double larger = out.small_limit > out.lost_limit ? out.small_limit : out.lost_limit;
    const D limit = V::broadcast_d(larger);
    const auto count_small = [&](std::int64_t j) {
      const double size = __builtin_fabs(static_cast<double>(values[j]) * grid.first[j] * grid.second[j]);
      if (values[j] == 0) return;
      out.small[j] += size < out.small_limit;
      out.lost[j] += size < out.lost_limit;
    };
    std::int64_t j = 0;
    for (; j + V::doubles <= count; j += V::doubles) {
      const D scaled =
          V::multiply_d(V::multiply_d(V::load_d(values + j), V::load_d(grid.first + j)), V::load_d(grid.second + j));
      const D size = V::absolute_d(scaled);
      V::store_i(out.sum + j, V::add_i(V::load_i(out.sum + j), V::nearest_i(scaled)));
      V::store_i(out.absolute_sum + j, V::add_i(V::load_i(out.absolute_sum + j), V::nearest_i(size)));
      V::store_d(out.off_grid + j, V::maximum_d(V::load_d(out.off_grid + j), V::subtract_d(size, V::floor_d(size))));
      for (unsigned few = V::not_above_d(size, limit); few != 0; few &= few - 1) count_small(j + __builtin_ctz(few));
    }
    for (; j < count; ++j) {
      const double scaled = static_cast<double>(values[j]) * grid.first[j] * grid.second[j];
      const std::int64_t q = __builtin_llrint(scaled);  // to_fixed, as one instruction on any processor
      out.sum[j] += q;
      out.absolute_sum[j] += q < 0 ? -q : q;
      if (static_cast<double>(q) != scaled) out.off_grid[j] = 1.0;
      count_small(j);
    }
  }

  static void add(const float* a, const float* b, std::int64_t count, float* out) {
    std::int64_t i = 0;
    for (; i + V::floats <= count; i += V::floats) V::store(out + i, V::add(V::load(a + i), V::load(b + i)));
    for (; i < count; ++i) out[i] = a[i] + b[i];
  }

  static double multiply_adds(std::int64_t rounds, float* result) {
    constexpr int kChains = 12;  // more than latency x throughput, fewer than registers
    F sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = V::broadcast(result);
    const float near_one = 0.999F, small = 1e-3F;
    const F factor = V::broadcast(&near_one), term = V::broadcast(&small);
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (int i = 0; i < kChains; ++i) sum[i] = V::multiply_add(sum[i], factor, term);
    }
    for (int i = 1; i < kChains; ++i) sum[0] = V::add(sum[0], sum[i]);
    float lanes[V::floats];
    V::store(lanes, sum[0]);
    *result = lanes[0];
    return 2.0 * kChains * V::floats * static_cast<double>(rounds);
  }

 private:
  template <int kAsked>
  static void quantized_distances_of(const std::int8_t* values, const float* step, std::int64_t count,
                                     std::int64_t pitch, const float* const* queries, float* squared) {
    constexpr int kTogether = 4;  // rows whose sums do not wait for each other
    for (std::int64_t i = 0; i < count; i += V::floats) {
      F sums[kAsked][V::floats];
      for (int first = 0; first < V::floats; first += kTogether) {
        const std::int8_t* row[kTogether];
        double scale[kTogether];
        F sum[kAsked][kTogether];
        for (int r = 0; r < kTogether; ++r) {
          const std::int64_t at = i + first + r < count ? i + first + r : count - 1;
          row[r] = values + at * pitch;
          scale[r] = static_cast<double>(step[at]);
          for (int q = 0; q < kAsked; ++q) sum[q][r] = V::zero();
        }
        for (std::int64_t j = 0; j < pitch; j += V::floats) {
          for (int r = 0; r < kTogether; ++r) {
            for (int q = 0; q < kAsked; ++q) {
              const F difference = V::centred(row[r] + j, scale[r], V::load(queries[q] + j));
              sum[q][r] = V::multiply_add(difference, difference, sum[q][r]);
            }
          }
        }
        for (int q = 0; q < kAsked; ++q) {
          for (int r = 0; r < kTogether; ++r) sums[q][first + r] = sum[q][r];
        }
      }
      for (int q = 0; q < kAsked; ++q) {
        F* const lanes = sums[q];
        V::transpose(lanes);  // then each lane belongs to a row
        for (int width = V::floats / 2; width > 0; width /= 2) {
          for (int l = 0; l < width; ++l) lanes[l] = V::add(lanes[l], lanes[l + width]);
        }
        float of_rows[V::floats];
        V::store(of_rows, lanes[0]);
        for (std::int64_t r = 0; r < V::floats && i + r < count; ++r) squared[q * count + i + r] = of_rows[r];
      }
    }
  }

  template <class T>
  static void add_block(const T* const* rows, std::int64_t count, std::int64_t j, GridView grid, std::int64_t* high,
                        std::int64_t* low) {
    const D first = V::load_d(grid.first + j), second = V::load_d(grid.second + j);
    typename V::I sum = V::load_i(high + j);
    if (low == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) {
        sum = V::add_i(sum, V::nearest_i(V::multiply_d(V::multiply_d(V::load_d(rows[i] + j), first), second)));
      }
    } else {
      typename V::I low_sum = V::load_i(low + j);
      const D low_scale = V::broadcast_d(grid.low_scale);
      for (std::int64_t i = 0; i < count; ++i) {
        const D scaled = V::multiply_d(V::multiply_d(V::load_d(rows[i] + j), first), second);
        const D floor = V::floor_d(scaled);
        sum = V::add_i(sum, V::nearest_i(floor));
        low_sum = V::add_i(low_sum, V::nearest_i(V::multiply_d(V::subtract_d(scaled, floor), low_scale)));
      }
      V::store_i(low + j, low_sum);
    }
    V::store_i(high + j, sum);
  }

  template <class T>
  static void add_one(const T* const* rows, std::int64_t count, std::int64_t j, GridView grid, std::int64_t* high,
                      std::int64_t* low) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(rows[i][j]);
      if (low == nullptr) {
        high[j] += to_fixed(value, grid.first[j], grid.second[j]);
      } else {
        const Limbs limbs = to_limbs(value, grid.first[j], grid.second[j], grid.low_scale);
        high[j] += limbs.high;
        low[j] += limbs.low;
      }
    }
  }
};

/// The float32 screen of an instruction set.
template <class V>
constexpr ScreenKernels float_screen() {
  using K = Kernels<V>;
  return {.arithmetic = "float32",
          .lanes = K::kLanes,
          .panel_columns = K::kPanelColumns,
          .padding = 1,
          .value_bytes = sizeof(float),
          .smallest = 0x1p-140,
          .scan_cost = 32,
          .accumulation = K::accumulation,
          .pack_rows = {K::template pack<float>, K::template pack<double>, K::template pack<std::uint8_t>,
                        K::template pack<std::int8_t>},
          .pack_columns = K::pack_columns,
          .products = K::products,
          .scores = score_kernels_of<V>(),
          .multiply_adds = K::multiply_adds};
}

template <class V, class T>
constexpr RowKernels<T> row_kernels_of() {
  using K = Kernels<V>;
  return {.centre = K::template centre<T>,
          .distance = Measures<V, Measure::squared_euclidean>::template distance<T>,
          .inner_product = Measures<V, Measure::inner_product>::template distance<T>,
          .manhattan = Measures<V, Measure::manhattan>::template distance<T>,
          .chebyshev = Measures<V, Measure::chebyshev>::template distance<T>,
          .add_rows = K::template add_rows<T>,
          .add_magnitudes = K::template add_magnitudes<T>};
}

/// An entry of the table of instruction sets.
template <class V>
constexpr Instructions instructions_of(const char* name, const char* summary, bool (*supported)(),
                                       const ScreenKernels& low_precision = float_screen<V>()) {
  return {.name = name,
          .summary = summary,
          .supported = supported,
          .float32 = float_screen<V>(),
          .low_precision = low_precision,
          .to_grid = Kernels<V>::to_grid,
          .quantized_distances = Kernels<V>::quantized_distances,
          .add = Kernels<V>::add,
          .root_sums = {RootSums<V>::kQueries, RootSums<V>::kRows, RootSums<V>::add},
          .narrow = narrow_kernels_of<V>(),
          .tree = tree_kernels_of<V>(),
          .row_kernels = {row_kernels_of<V, float>(), row_kernels_of<V, double>(), row_kernels_of<V, std::uint8_t>(),
                          row_kernels_of<V, std::int8_t>()},
          .bits = V::bits()};
}

}  // namespace kith::cpu
