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
#include "kernels/cpu/instructions/root_sums.h"
#include "kernels/cpu/instructions/tile_scores.h"
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

  /// D by the definition: its 32 accumulators are 32 / V::doubles vectors; the first steps of the tree add whole
  /// vectors.
  template <class T>
  static double distance(const T* x, const double* c, std::int64_t d) {
    if (d <= V::doubles) {  // one vector holds all accumulators that are not zero
      const D t = V::subtract_d(V::load_first_d(x, static_cast<int>(d)), V::load_first_d(c, static_cast<int>(d)));
      return V::tree_d(V::multiply_d(t, t));
    }
    constexpr int kVectors = 32 / V::doubles;
    D lane[kVectors];
    for (int v = 0; v < kVectors; ++v) lane[v] = V::zero_d();
    std::int64_t j = 0;
    for (; j + 32 <= d; j += 32) {
      for (int v = 0; v < kVectors; ++v) {
        const D t = V::subtract_d(V::load_d(x + j + v * V::doubles), V::load_d(c + j + v * V::doubles));
        lane[v] = V::multiply_add_d(t, t, lane[v]);
      }
    }
    for (int v = 0; j < d; ++v, j += V::doubles) {  // missing columns count as zero differences
      const int left = static_cast<int>(d - j < V::doubles ? d - j : V::doubles);
      const D t = V::subtract_d(V::load_first_d(x + j, left), V::load_first_d(c + j, left));
      lane[v] = V::multiply_add_d(t, t, lane[v]);
    }
    for (int w = kVectors / 2; w > 0; w /= 2) {
      for (int v = 0; v < w; ++v) lane[v] = V::add_d(lane[v], lane[v + w]);
    }
    return V::tree_d(lane[0]);
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

  template <class T>
  static void add_rows(const T* const* rows, std::int64_t count, std::int64_t d, GridView grid, std::int64_t* high,
                       std::int64_t* low) {
    std::int64_t j = 0;
    for (; j + V::doubles <= d; j += V::doubles) {
      add_block(rows, count, j, grid, high, low);
    }
    for (; j < d; ++j) add_one(rows, count, j, grid, high, low);
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
          .distance = K::template distance<T>,
          .inner_product = Measures<V, Measure::inner_product>::template distance<T>,
          .manhattan = Measures<V, Measure::manhattan>::template distance<T>,
          .chebyshev = Measures<V, Measure::chebyshev>::template distance<T>,
          .add_rows = K::template add_rows<T>};
}

/// An entry of the table of instruction sets.
template <class V>
constexpr Instructions instructions_of(const char* name, const char* summary, bool (*supported)(),
                                       const ScreenKernels& low_precision = float_screen<V>(),
                                       const Instructions* finer = nullptr) {
  return {.name = name,
          .summary = summary,
          .supported = supported,
          .float32 = float_screen<V>(),
          .low_precision = low_precision,
          .to_grid = Kernels<V>::to_grid,
          .add = Kernels<V>::add,
          .root_sums = {RootSums<V>::kQueries, RootSums<V>::kRows, RootSums<V>::add},
          .narrow = narrow_kernels_of<V>(),
          .tree = tree_kernels_of<V>(),
          .row_kernels = {row_kernels_of<V, float>(), row_kernels_of<V, double>(), row_kernels_of<V, std::uint8_t>(),
                          row_kernels_of<V, std::int8_t>()},
          .finer = finer};
}

}  // namespace kith::cpu
