// The narrow screen and the sums of reassigned rows: kernels of instructions.h over a vector type V.
//
// Per row and centroid: d multiply-adds (and d subtractions, of differences) and four operations for the two best
// scores. The number of a centroid replaces the last bits of its score, so that the minimum contains it; the margin
// covers the change. V is that of kernels.h, and also has: subtract_product, updated_tile, store_label, differ,
// load_four_columns, gather_d, store_d, subtract_i.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

template <class V, Measure M>
struct Measures;  // kernels.h

template <class V>
struct Narrow {
  using F = typename V::F;
  using D = typename V::D;
  using I = typename V::I;
  static constexpr int kPanelVectors = V::floats == 16 ? 3 : 2;  // vectors of a panel, whose scores fit the registers
  static constexpr int kLanes = kPanelVectors * V::floats;
  static constexpr int kPanelColumns = kNarrowPanelColumns;
  static constexpr std::int64_t kAhead = 4096;  // bytes; the hardware prefetcher stops at a page boundary

  template <class T>
  static void pack(const T* rows, std::int64_t count, std::int64_t d, double scale, const float* centers, float* flat,
                   float* panels) {
    for (std::int64_t first = 0; first < count; first += kLanes) {
      const std::int64_t values = (count - first < kLanes ? count - first : kLanes) * d;
      const T* from = rows + first * d;
      const auto centred = [&](std::int64_t at, std::int64_t center) {
        __builtin_prefetch(from + at + kAhead / sizeof(T));
        return V::centred(from + at, scale, V::load(centers + center));
      };
      if (d % V::floats == 0 && values == kLanes * d) {  // each vector holds values of one row
        transpose_vectors(d, panels + first * d,
                          [&](std::int64_t row, std::int64_t j) { return centred(row * d + j, j); });
        continue;
      }
      std::int64_t i = 0;
      for (; i + V::floats <= values; i += V::floats) V::store(flat + i, centred(i, i));
      for (; i < values; ++i) flat[i] = V::centred_one(from[i], scale, centers[i]);
      transpose_panel(flat, d, panels + first * d);
    }
  }

  static std::int64_t screen(const float* panels, std::int64_t count, const NarrowColumns& columns, std::int32_t* label,
                             NarrowAmbiguousRow* ambiguous) {
    return with_columns(columns.d, [&]<int kColumns>(ColumnCount<kColumns>) {
      return columns.scores == NarrowScores::products
                 ? screen_panels<kColumns, NarrowScores::products>(panels, count, columns, label, ambiguous)
                 : screen_panels<kColumns, NarrowScores::differences>(panels, count, columns, label, ambiguous);
    });
  }

  static std::int64_t candidates(const float* panels, const NarrowColumns& columns, NarrowAmbiguousRow row,
                                 std::int32_t* found) {
    const float* x = panels + row.position / kLanes * kLanes * columns.d + row.position % kLanes;
    const F limit = V::broadcast(&row.limit);
    std::int32_t* out = found;
    for (std::int64_t c = 0; c < columns.padded; c += V::floats) {
      F score = V::load(columns.by_column + c);
      for (std::int64_t j = 0; j < columns.d; ++j) {
        const F value = V::broadcast(x + j * kLanes),
                column = V::load(columns.by_column + (1 + j) * columns.padded + c);
        score = columns.scores == NarrowScores::products ? add_term<NarrowScores::products>(value, column, score)
                                                         : add_term<NarrowScores::differences>(value, column, score);
      }
      unsigned mask = V::not_greater(score, limit);
      for (; mask != 0; mask &= mask - 1) {
        const std::int64_t candidate = c + __builtin_ctz(mask);
        if (candidate < columns.count) *out++ = static_cast<std::int32_t>(candidate);
      }
    }
    return out - found;
  }

  static std::int64_t store_labels(const std::int32_t* now, std::int64_t count, KeptLabels kept, std::int64_t* counts,
                                   std::int64_t clusters, std::int64_t ways) {
    std::int64_t changed = 0, i = 0;
    for (; i + V::floats <= count; i += V::floats) changed += __builtin_popcount(V::differ(now + i, kept.summed + i));
    for (; i < count; ++i) changed += now[i] != kept.summed[i];
    __builtin_memcpy(kept.label, now, static_cast<std::size_t>(count) * sizeof *now);
    for (i = 0; i < count; ++i) ++counts[(i & (ways - 1)) * clusters + now[i]];
    return changed;
  }

  template <class T>
  static void label_distances(const T* rows, std::int64_t count, std::int64_t d, const double* centroids,
                              const std::int32_t* label, double* out) {
    with_columns(d, [&]<int kColumns>(ColumnCount<kColumns>) {
      if constexpr (kColumns > 0) return gathered_distances<kColumns>(rows, count, centroids, label, out);
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = Measures<V, Measure::squared_euclidean>::distance(rows + i * d, centroids + label[i] * d, d);
    });
  }

  template <class T>
  static std::int64_t reassign(const T* rows, std::int64_t count, std::int64_t d, const std::int32_t* now,
                               KeptLabels kept, const ReassignmentTable& table) {
    std::int64_t reassigned = 0, i = 0;
    const auto reassign_one = [&](std::int64_t row) {
      ++reassigned;
      const std::int32_t from = kept.summed[row], to = now[row];
      kept.summed[row] = to;
      kept.label[row] = to;
      ++table.counts[to];
      if (from >= 0) --table.counts[from];
      reassign_row(rows + row * d, d, from, to, table);
    };
    for (; i + V::floats <= count; i += V::floats) {
      for (unsigned mask = V::differ(now + i, kept.summed + i); mask != 0; mask &= mask - 1)
        reassign_one(i + __builtin_ctz(mask));
    }
    for (; i < count; ++i) {
      if (now[i] != kept.summed[i]) reassign_one(i);
    }
    return reassigned;
  }

 private:
  template <int kColumns>
  struct ColumnCount {};
  /// use(number of columns, as a constant for 1 to 4, else 0).
  template <class Use>
  static auto with_columns(std::int64_t d, const Use& use) {
    switch (d) {
      case 1:
        return use(ColumnCount<1>{});
      case 2:
        return use(ColumnCount<2>{});
      case 3:
        return use(ColumnCount<3>{});
      case 4:
        return use(ColumnCount<4>{});
      default:
        return use(ColumnCount<0>{});
    }
  }

  /// Transposes a panel from rows to columns.
  static void transpose_panel(const float* flat, std::int64_t d, float* panel) {
    if (d == 1) {
      __builtin_memcpy(panel, flat, kLanes * sizeof *flat);
      return;
    }
    if (d > 4)
      return transpose_vectors(d, panel, [&](std::int64_t row, std::int64_t j) { return V::load(flat + row * d + j); });
    for (int p = 0; p < kLanes; p += V::floats) {
      F column[4];
      V::load_four_columns(flat + p * d, d, column);
      for (std::int64_t j = 0; j < d; ++j) V::store(panel + j * kLanes + p, column[j]);
    }
  }

  /// load(row, j): a vector of the row from column j on; values behind the last column are ignored.
  template <class Load>
  static void transpose_vectors(std::int64_t d, float* panel, const Load& load) {
    for (int p = 0; p < kLanes; p += V::floats) {
      for (std::int64_t j = 0; j < d; j += V::floats) {
        F block[V::floats];
        for (int i = 0; i < V::floats; ++i) block[i] = load(p + i, j);
        V::transpose(block);
        const std::int64_t valid = d - j < V::floats ? d - j : V::floats;
        for (std::int64_t i = 0; i < valid; ++i) V::store(panel + (j + i) * kLanes + p, block[i]);
      }
    }
  }

  /// The two best scores, per lane.
  struct BestTwo {
    F best, second;
    void update(F a, F b) {
      const F low = V::minimum(a, b), high = V::maximum(a, b);
      second = V::minimum(second, V::minimum(high, V::maximum(best, low)));
      best = V::minimum(best, low);
    }
  };

  template <NarrowScores Scores>
  [[gnu::always_inline]] static inline F add_term(F value, F column, F score) {
    if constexpr (Scores == NarrowScores::products) return V::subtract_product(value, column, score);
    const F t = V::subtract(value, column);
    return V::multiply_add(t, t, score);
  }

  /// Columns: the number of columns if they fit registers, else 0.
  template <int Columns, NarrowScores Scores>
  static std::int64_t screen_panels(const float* panels, std::int64_t count, const NarrowColumns& columns,
                                    std::int32_t* label, NarrowAmbiguousRow* ambiguous) {
    constexpr float kMaxScore = 3e38F;
    const std::int64_t d = Columns > 0 ? Columns : columns.d;
    const std::int64_t column_panels = (columns.count + kPanelColumns - 1) / kPanelColumns;
    NarrowAmbiguousRow* out = ambiguous;
    for (std::int64_t first = 0; first < count; first += kLanes) {
      const float* panel = panels + first * d;
      F x[Columns > 0 ? Columns : 1][kPanelVectors];
      BestTwo best[kPanelVectors];
      F tile[kPanelVectors];
      for (int p = 0; p < kPanelVectors; ++p) {
        best[p] = {V::broadcast(&kMaxScore), V::broadcast(&kMaxScore)};
        tile[p] = V::zero();
        for (int j = 0; j < Columns; ++j) x[j][p] = V::load(panel + j * kLanes + p * V::floats);
      }
      const float* column_panel = columns.column_panels;
      for (std::int64_t from = 0; from < column_panels; from += kMarks / kPanelColumns) {
        F before[kPanelVectors];
        for (int p = 0; p < kPanelVectors; ++p) before[p] = best[p].best;
        const std::int64_t to =
            column_panels - from < kMarks / kPanelColumns ? column_panels : from + kMarks / kPanelColumns;
        for (std::int64_t g = from; g < to; ++g, column_panel += (2 + d) * kPanelColumns) {
          F score[kPanelColumns][kPanelVectors];
          for (int r = 0; r < kPanelColumns; ++r) {
            for (int p = 0; p < kPanelVectors; ++p) score[r][p] = V::broadcast(column_panel + r);
          }
          for (std::int64_t j = 0; j < d; ++j) {
            for (int r = 0; r < kPanelColumns; ++r) {
              const F c = V::broadcast(column_panel + (2 + j) * kPanelColumns + r);
              for (int p = 0; p < kPanelVectors; ++p) {
                const F value = Columns > 0 ? x[Columns > 0 ? j : 0][p] : V::load(panel + j * kLanes + p * V::floats);
                score[r][p] = add_term<Scores>(value, c, score[r][p]);
              }
            }
          }
          for (int r = 0; r < kPanelColumns; r += 2) {
            const F a = V::broadcast(column_panel + kPanelColumns + r),
                    b = V::broadcast(column_panel + kPanelColumns + r + 1);
            for (int p = 0; p < kPanelVectors; ++p)
              best[p].update(V::marked(score[r][p], a), V::marked(score[r + 1][p], b));
          }
        }
        for (int p = 0; p < kPanelVectors; ++p)
          tile[p] = V::updated_tile(tile[p], best[p].best, before[p], static_cast<std::int32_t>(from * kPanelColumns));
      }
      for (int p = 0; p < kPanelVectors; ++p) {
        V::store_label(label + first + p * V::floats, best[p].best, tile[p]);
        float limit[V::floats];
        unsigned ambiguous_lanes = find_ambiguous<Scores>(panel + p * V::floats, best[p], columns, limit);
        for (; ambiguous_lanes != 0; ambiguous_lanes &= ambiguous_lanes - 1) {
          const int lane = __builtin_ctz(ambiguous_lanes);
          const std::int64_t position = first + p * V::floats + lane;
          if (position < count) *out++ = {static_cast<std::int32_t>(position), limit[lane]};
        }
      }
    }
    return out - ambiguous;
  }

  /// The lanes of the ambiguous rows of one vector, and the limits of their candidates' scores.
  template <NarrowScores Scores>
  static unsigned find_ambiguous(const float* x, BestTwo best, const NarrowColumns& columns, float* limit) {
    const F constant = V::broadcast(&columns.constant), linear = V::broadcast(&columns.linear),
            quadratic = V::broadcast(&columns.quadratic);
    F squares = V::zero();
    for (std::int64_t j = 0; j < columns.d; ++j) {
      const F value = V::load(x + j * kLanes);
      squares = V::multiply_add(value, value, squares);
    }
    const F norm = V::root(squares);
    if constexpr (Scores == NarrowScores::products) {
      const F margin = V::multiply_add(norm, V::multiply_add(norm, quadratic, linear), constant);
      const unsigned lanes = V::not_greater(V::subtract(best.second, best.best), margin);
      if (lanes != 0) V::store(limit, V::add(best.best, margin));
      return lanes;
    }
    constexpr float kLongest = kNarrowLongest;
    const F own = V::root(best.best), other = V::root(best.second), slack = V::multiply_add(norm, linear, constant);
    const unsigned too_long = V::not_greater(V::broadcast(&kLongest), norm);  // or NaN
    const unsigned lanes =
        too_long | V::not_greater(V::subtract(other, own), V::multiply_add(V::add(own, other), quadratic, slack));
    if (lanes == 0) return 0;
    const F above = V::add(V::multiply_add(own, quadratic, own), slack),
            root = V::multiply_add(above, quadratic, above);
    V::store(limit, V::multiply_add(root, root, V::zero()));
    for (unsigned rest = too_long; rest != 0; rest &= rest - 1) limit[__builtin_ctz(rest)] = __builtin_inff();
    return lanes;
  }

  /// One row per lane, up to four columns: their squares are the first accumulators of the definition; the others are
  /// 0.
  template <int Columns, class T>
  static void gathered_distances(const T* rows, std::int64_t count, const double* centroids, const std::int32_t* label,
                                 double* out) {
    std::int64_t row_at[V::doubles];
    for (int i = 0; i < V::doubles; ++i) row_at[i] = i * Columns;
    std::int64_t i = 0;
    for (; i + V::doubles <= count; i += V::doubles) {
      std::int64_t centroid_at[V::doubles];
      for (int l = 0; l < V::doubles; ++l) centroid_at[l] = std::int64_t{label[i + l]} * Columns;
      D square[4];
      for (int j = 0; j < Columns; ++j) {
        const D t = V::subtract_d(V::gather_d(rows + i * Columns + j, row_at), V::gather_d(centroids + j, centroid_at));
        square[j] = V::multiply_d(t, t);
      }
      D sum = square[0];
      if constexpr (Columns >= 3) sum = V::add_d(sum, square[2]);
      if constexpr (Columns >= 4) square[1] = V::add_d(square[1], square[3]);
      if constexpr (Columns >= 2) sum = V::add_d(sum, square[1]);
      V::store_d(out + i, sum);
    }
    for (; i < count; ++i)
      out[i] = Measures<V, Measure::squared_euclidean>::distance(rows + i * Columns,
                                                                 centroids + std::int64_t{label[i]} * Columns, Columns);
  }

  template <class T>
  static void reassign_row(const T* x, std::int64_t d, std::int32_t from, std::int32_t to,
                           const ReassignmentTable& table) {
    const std::int64_t stride = table.limbs * table.pitch;
    std::int64_t* const to_sums = table.sums + to * stride;
    std::int64_t* const from_sums = from >= 0 ? table.sums + from * stride : nullptr;
    for (std::int64_t j = 0; j < d; j += V::doubles) {
      const D value = d - j >= V::doubles ? V::load_d(x + j) : V::load_first_d(x + j, static_cast<int>(d - j));
      const D scaled = V::multiply_d(V::multiply_d(value, V::load_d(table.first + j)), V::load_d(table.second + j));
      if (table.limbs == 1) {
        add_signed(V::nearest_i(scaled), to_sums, from_sums, j);
        continue;
      }
      const D floor = V::floor_d(scaled);
      add_signed(V::nearest_i(floor), to_sums, from_sums, j);
      add_signed(V::nearest_i(V::multiply_d(V::subtract_d(scaled, floor), V::broadcast_d(table.low_scale))), to_sums,
                 from_sums, table.pitch + j);
    }
  }

  static void add_signed(I term, std::int64_t* to_sums, std::int64_t* from_sums, std::int64_t at) {
    V::store_i(to_sums + at, V::add_i(V::load_i(to_sums + at), term));
    if (from_sums != nullptr) V::store_i(from_sums + at, V::subtract_i(V::load_i(from_sums + at), term));
  }
};

template <class V, class T>
constexpr NarrowRowKernels<T> narrow_row_kernels_of() {
  using K = Narrow<V>;
  return {K::template pack<T>, K::template label_distances<T>, K::template reassign<T>};
}

template <class V>
constexpr NarrowKernels narrow_kernels_of() {
  using K = Narrow<V>;
  return {.lanes = K::kLanes,
          .floats = V::floats,
          .roundings_per_product = V::roundings_per_product,
          .screen = K::screen,
          .candidates = K::candidates,
          .store_labels = K::store_labels,
          .row_kernels = {narrow_row_kernels_of<V, float>(), narrow_row_kernels_of<V, double>(),
                          narrow_row_kernels_of<V, std::uint8_t>(), narrow_row_kernels_of<V, std::int8_t>()}};
}

}  // namespace kith::cpu
