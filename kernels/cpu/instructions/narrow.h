// Rows of few columns, and rows that move: the loops of kernels/cpu/instructions/narrow_kernels.h over a vector type V.
//
// Per row and centroid: d multiply-adds and four operations for the best two of all scores. The number of a centroid
// replaces the last bits of its score, so that a minimum carries it along; the margin knows of it. V is the one of
// kernels.h, and has beside that: subtract_product, renamed, store_label, differ, quads, gather_d, store_d, subtract_i.
#pragma once

#include <cstdint>

#include "kernels/cpu/instructions/narrow_kernels.h"

namespace kith::cpu {

template <class V>
struct Kernels;  // kernels.h

template <class V>
struct Narrow {
  using F = typename V::F;
  using D = typename V::D;
  using I = typename V::I;
  static constexpr int kPanel = V::floats == 16 ? 3 : 2;  // vectors of a panel: their scores fit the registers
  static constexpr int kLanes = kPanel * V::floats;
  static constexpr int kGroup = kNarrowGroup;
  static constexpr std::int64_t kAhead = 4096;  // bytes; the processor by itself does not look beyond a page

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
      if (d % V::floats == 0 && values == kLanes * d) {  // whole vectors of one row each
        turn_vectors(d, panels + first * d, [&](std::int64_t row, std::int64_t j) { return centred(row * d + j, j); });
        continue;
      }
      std::int64_t i = 0;
      for (; i + V::floats <= values; i += V::floats) V::store(flat + i, centred(i, i));
      for (; i < values; ++i) flat[i] = V::centred_one(from[i], scale, centers[i]);
      turn(flat, d, panels + first * d);
    }
  }

  static std::int64_t look(const float* panels, std::int64_t count, const NarrowColumns& columns, std::int32_t* label,
                           NarrowAmbiguousRows* ambiguous) {
    return with_columns(columns.d, [&]<int kColumns>(ColumnCount<kColumns>) {
      return look_at<kColumns>(panels, count, columns, label, ambiguous);
    });
  }

  static std::int64_t candidates(const float* panels, const NarrowColumns& columns, NarrowAmbiguousRows row,
                                 std::int32_t* found) {
    const float* x = panels + row.position / kLanes * kLanes * columns.d + row.position % kLanes;
    const F limit = V::broadcast(&row.limit);
    std::int32_t* out = found;
    for (std::int64_t c = 0; c < columns.padded; c += V::floats) {
      F score = V::load(columns.by_column + c);
      for (std::int64_t j = 0; j < columns.d; ++j)
        score = V::subtract_product(V::broadcast(x + j * kLanes),
                                    V::load(columns.by_column + (1 + j) * columns.padded + c), score);
      unsigned mask = V::not_greater(score, limit);
      for (; mask != 0; mask &= mask - 1) {
        const std::int64_t candidate = c + __builtin_ctz(mask);
        if (candidate < columns.count) *out++ = static_cast<std::int32_t>(candidate);
      }
    }
    return out - found;
  }

  static std::int64_t settle(const std::int32_t* now, std::int64_t count, KeptLabels kept, std::int64_t* counts,
                             std::int64_t clusters, std::int64_t ways) {
    std::int64_t changed = 0, i = 0;
    for (; i + V::floats <= count; i += V::floats) changed += __builtin_popcount(V::differ(now + i, kept.summed + i));
    for (; i < count; ++i) changed += now[i] != kept.summed[i];
    __builtin_memcpy(kept.label, now, static_cast<std::size_t>(count) * sizeof *now);
    for (i = 0; i < count; ++i) ++counts[(i & (ways - 1)) * clusters + now[i]];
    return changed;
  }

  template <class T>
  static void own_distances(const T* rows, std::int64_t count, std::int64_t d, const double* centroids,
                            const std::int32_t* label, double* out) {
    with_columns(d, [&]<int kColumns>(ColumnCount<kColumns>) {
      if constexpr (kColumns > 0) return gathered_distances<kColumns>(rows, count, centroids, label, out);
      for (std::int64_t i = 0; i < count; ++i) out[i] = Kernels<V>::distance(rows + i * d, centroids + label[i] * d, d);
    });
  }

  template <class T>
  static std::int64_t move(const T* rows, std::int64_t count, std::int64_t d, const std::int32_t* now, KeptLabels kept,
                           const ReassignmentTable& table) {
    std::int64_t moved = 0, i = 0;
    const auto move_one = [&](std::int64_t row) {
      ++moved;
      const std::int32_t from = kept.summed[row], to = now[row];
      kept.summed[row] = to;
      kept.label[row] = to;
      ++table.counts[to];
      if (from >= 0) --table.counts[from];
      move_row(rows + row * d, d, from, to, table);
    };
    for (; i + V::floats <= count; i += V::floats) {
      for (unsigned mask = V::differ(now + i, kept.summed + i); mask != 0; mask &= mask - 1)
        move_one(i + __builtin_ctz(mask));
    }
    for (; i < count; ++i) {
      if (now[i] != kept.summed[i]) move_one(i);
    }
    return moved;
  }

 private:
  template <int kColumns>
  struct ColumnCount {};
  /// use(how many columns there are, where it pays to know that when the code is made; else 0).
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

  /// Rows of a panel, one after another, become columns.
  static void turn(const float* flat, std::int64_t d, float* panel) {
    if (d == 1) {
      __builtin_memcpy(panel, flat, kLanes * sizeof *flat);
      return;
    }
    if (d > 4)
      return turn_vectors(d, panel, [&](std::int64_t row, std::int64_t j) { return V::load(flat + row * d + j); });
    for (int p = 0; p < kLanes; p += V::floats) {
      F column[4];
      V::quads(flat + p * d, d, column);
      for (std::int64_t j = 0; j < d; ++j) V::store(panel + j * kLanes + p, column[j]);
    }
  }

  /// load(row, j): a vector of the row's columns from j on; what is behind the last column is not used.
  template <class Load>
  static void turn_vectors(std::int64_t d, float* panel, const Load& load) {
    for (int p = 0; p < kLanes; p += V::floats) {
      for (std::int64_t j = 0; j < d; j += V::floats) {
        F block[V::floats];
        for (int i = 0; i < V::floats; ++i) block[i] = load(p + i, j);
        V::transpose(block);
        const std::int64_t there = d - j < V::floats ? d - j : V::floats;
        for (std::int64_t i = 0; i < there; ++i) V::store(panel + (j + i) * kLanes + p, block[i]);
      }
    }
  }

  /// The best two of all scores, per lane.
  struct BestTwo {
    F best, second;
    void take(F a, F b) {
      const F low = V::minimum(a, b), high = V::maximum(a, b);
      second = V::minimum(second, V::minimum(high, V::maximum(best, low)));
      best = V::minimum(best, low);
    }
  };

  /// Columns: how many there are if they are to be kept in registers, else 0.
  template <int Columns>
  static std::int64_t look_at(const float* panels, std::int64_t count, const NarrowColumns& columns,
                              std::int32_t* label, NarrowAmbiguousRows* ambiguous) {
    constexpr float kNever = 3e38F;
    const std::int64_t d = Columns > 0 ? Columns : columns.d;
    const std::int64_t groups = (columns.count + kGroup - 1) / kGroup;
    NarrowAmbiguousRows* out = ambiguous;
    for (std::int64_t first = 0; first < count; first += kLanes) {
      const float* panel = panels + first * d;
      F x[Columns > 0 ? Columns : 1][kPanel];
      BestTwo kept[kPanel];
      F tile[kPanel];
      for (int p = 0; p < kPanel; ++p) {
        kept[p] = {V::broadcast(&kNever), V::broadcast(&kNever)};
        tile[p] = V::zero();
        for (int j = 0; j < Columns; ++j) x[j][p] = V::load(panel + j * kLanes + p * V::floats);
      }
      const float* group = columns.groups;
      for (std::int64_t from = 0; from < groups; from += kMarks / kGroup) {
        F before[kPanel];
        for (int p = 0; p < kPanel; ++p) before[p] = kept[p].best;
        const std::int64_t to = groups - from < kMarks / kGroup ? groups : from + kMarks / kGroup;
        for (std::int64_t g = from; g < to; ++g, group += (2 + d) * kGroup) {
          F score[kGroup][kPanel];
          for (int r = 0; r < kGroup; ++r) {
            for (int p = 0; p < kPanel; ++p) score[r][p] = V::broadcast(group + r);
          }
          for (std::int64_t j = 0; j < d; ++j) {
            for (int r = 0; r < kGroup; ++r) {
              const F c = V::broadcast(group + (2 + j) * kGroup + r);
              for (int p = 0; p < kPanel; ++p) {
                const F value = Columns > 0 ? x[Columns > 0 ? j : 0][p] : V::load(panel + j * kLanes + p * V::floats);
                score[r][p] = V::subtract_product(value, c, score[r][p]);
              }
            }
          }
          for (int r = 0; r < kGroup; r += 2) {
            const F a = V::broadcast(group + kGroup + r), b = V::broadcast(group + kGroup + r + 1);
            for (int p = 0; p < kPanel; ++p) kept[p].take(V::marked(score[r][p], a), V::marked(score[r + 1][p], b));
          }
        }
        for (int p = 0; p < kPanel; ++p)
          tile[p] = V::renamed(tile[p], kept[p].best, before[p], static_cast<std::int32_t>(from * kGroup));
      }
      for (int p = 0; p < kPanel; ++p) {
        V::store_label(label + first + p * V::floats, kept[p].best, tile[p]);
        const F margin = margin_of(panel + p * V::floats, d, columns);
        unsigned open = V::not_greater(V::subtract(kept[p].second, kept[p].best), margin);
        if (open == 0) continue;
        float limit[V::floats];
        V::store(limit, V::add(kept[p].best, margin));
        for (; open != 0; open &= open - 1) {
          const int lane = __builtin_ctz(open);
          const std::int64_t position = first + p * V::floats + lane;
          if (position < count) *out++ = {static_cast<std::int32_t>(position), limit[lane]};
        }
      }
    }
    return out - ambiguous;
  }

  /// ScreenMargin::at of the rows of one vector.
  static F margin_of(const float* x, std::int64_t d, const NarrowColumns& columns) {
    F squares = V::zero();
    for (std::int64_t j = 0; j < d; ++j) {
      const F value = V::load(x + j * kLanes);
      squares = V::multiply_add(value, value, squares);
    }
    const F norm = V::root(squares);
    const F slope = V::multiply_add(norm, V::broadcast(&columns.quadratic), V::broadcast(&columns.linear));
    return V::multiply_add(norm, slope, V::broadcast(&columns.constant));
  }

  /// One row per lane. Up to four columns, whose squares are the first accumulators of the definition; the others are
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
      out[i] = Kernels<V>::distance(rows + i * Columns, centroids + std::int64_t{label[i]} * Columns, Columns);
  }

  template <class T>
  static void move_row(const T* x, std::int64_t d, std::int32_t from, std::int32_t to, const ReassignmentTable& table) {
    const std::int64_t stride = table.limbs * table.pitch;
    std::int64_t* const come = table.sums + to * stride;
    std::int64_t* const gone = from >= 0 ? table.sums + from * stride : nullptr;
    for (std::int64_t j = 0; j < d; j += V::doubles) {
      const D value = d - j >= V::doubles ? V::load_d(x + j) : V::load_first_d(x + j, static_cast<int>(d - j));
      const D scaled = V::multiply_d(V::multiply_d(value, V::load_d(table.first + j)), V::load_d(table.second + j));
      if (table.limbs == 1) {
        shift(V::nearest_i(scaled), come, gone, j);
        continue;
      }
      const D floor = V::floor_d(scaled);
      shift(V::nearest_i(floor), come, gone, j);
      shift(V::nearest_i(V::multiply_d(V::subtract_d(scaled, floor), V::broadcast_d(table.low_scale))), come, gone,
            table.pitch + j);
    }
  }

  static void shift(I q, std::int64_t* come, std::int64_t* gone, std::int64_t at) {
    V::store_i(come + at, V::add_i(V::load_i(come + at), q));
    if (gone != nullptr) V::store_i(gone + at, V::subtract_i(V::load_i(gone + at), q));
  }
};

template <class V, class T>
constexpr NarrowRowKernels<T> narrow_row_kernels_of() {
  using K = Narrow<V>;
  return {K::template pack<T>, K::template own_distances<T>, K::template move<T>};
}

template <class V>
constexpr NarrowKernels narrow_kernels_of() {
  using K = Narrow<V>;
  return {.lanes = K::kLanes,
          .floats = V::floats,
          .roundings_per_product = V::roundings_per_product,
          .look = K::look,
          .candidates = K::candidates,
          .settle = K::settle,
          .row_kernels = {narrow_row_kernels_of<V, float>(), narrow_row_kernels_of<V, double>(),
                          narrow_row_kernels_of<V, std::uint8_t>(), narrow_row_kernels_of<V, std::int8_t>()}};
}

}  // namespace kith::cpu
