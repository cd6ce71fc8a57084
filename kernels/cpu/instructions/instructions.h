// The table of instruction sets: what the hot loops ask of the processor, one implementation per set.
//
// Rows are screened in panels of `lanes` rows, one row per vector lane, so that the running minimum of a row needs no
// reduction; columns of the product (centroids, or base rows of a search) come in groups that are multiplied together.
// A tile holds the products of one panel with a run of groups: tile[column * lanes + lane]. How a screen packs panels
// and groups, and in which precision, is its own affair: it says what the packing took from each row.
//
// The files of instructions/ are compiled with their own -m flags. They must include nothing that instantiates shared
// inline code with external linkage (no standard containers): the linker would keep one copy, perhaps the one this
// processor cannot run.
#pragma once

#include <cstdint>
#include <span>

#include "core/fixed_point.h"
#include "core/measure.h"
#include "kernels/cpu/instructions/narrow_kernels.h"
#include "kernels/cpu/instructions/point_types.h"

namespace kith::cpu {

inline constexpr int kMaxLanes = 64;
inline constexpr int kTileColumns = 64;        // columns of one tile: it stays in the first-level cache
inline constexpr int kWinnerColumns = kMarks;  // columns of a tile of which a row keeps the best
inline constexpr int kWinnersOfTile = kTileColumns / kWinnerColumns;

/// A screened score that may matter: its column within the tile and its row's lane.
struct Hit {
  float score;
  std::int32_t column;
  std::int32_t lane;
};

/// The grid of one accumulation: factors of ColumnScales, and 2^bits of the second limb (0: one limb).
struct GridView {
  const double* first;   // (d)
  const double* second;  // (d)
  double low_scale;
};

/// What screening made of the rows of a panel, per lane. x~ = float(x'); x^ is what is multiplied.
struct PanelNorms {
  float norm[kMaxLanes];      // |x~|
  float residual[kMaxLanes];  // |x~ - x^|
};

/// One row on its way into the screen: |c'|^2 and |c' - c~|^2, c~ = float(c').
struct CentredNorms {
  double squared_norm;
  double squared_residual;
};

/// Columns as they were packed: what 1 of a packed value stands for, and the largest |c~ - c^|^2.
struct PackedColumns {
  float unit;
  float squared_residual;
};

/// E of a row for a tile of columns: constant + n (linear + n quadratic) + per_residual residual, n = norm + residual.
struct TileError {
  float constant = 0.0F, linear = 0.0F, quadratic = 0.0F, per_residual = 0.0F;
};

/// The best scores of a panel's rows so far, NEGATED (products less half norms), so that more is nearer. The true score
/// of a column is within the error of its tile, which a row has `error` of: at most score + error, at least score -
/// error.
struct Leaders {
  float* winners;    // [run of kWinnerColumns columns][lane] at most: the best, its column in the lowest four bits
  float* surest;     // (lanes) at least: the best of all
  float* first;      // (lanes) at most: the best winner
  float* second;     // (lanes) at most: the second best winner
  float* runner_up;  // (lanes) at most: the best of all that won no run
};

/// What becomes of a tile of products.
struct ScoreKernels {
  /// error (lanes) = E of the rows of a panel.
  void (*errors)(const PanelNorms& norms, const TileError& of_tile, float* error);
  /// Enters columns 0 .. count - 1 of a tile into the leaders. error: (lanes) of this tile. leaders.winners: those of
  /// this tile.
  void (*lead)(const float* tile, const float* half_sq_norm, std::int64_t count, const float* error, Leaders leaders);
  /// Every column of the tile with !(score > limit[lane]), score = half_sq_norm[column] - tile; returns how many. hits:
  /// room for count * lanes.
  std::int64_t (*within)(const float* tile, const float* half_sq_norm, std::int64_t count, const float* limit,
                         Hit* hits);
  /// The smallest score (half_sq_norm[column] - tile) of every run of kWinnerColumns columns, the last of which may be
  /// shorter. smallest: [run][lane].
  void (*minima)(const float* tile, const float* half_sq_norm, std::int64_t count, float* smallest);
  /// limit (lanes): at least k of the `runs` minima of each lane are not above it, and it is hardly above the k-th of
  /// them. minima: [run][lane], 1 <= k <= runs.
  void (*bound)(const float* minima, std::int64_t runs, std::int64_t k, float* limit);
};

/// A screen: packed operands, their products, and what becomes of a tile of products.
struct ScreenKernels {
  const char* unit;  // what multiplies, for `kith bench limits`
  int lanes;         // rows of a panel
  int group;         // columns that are multiplied together
  int padding;       // packed rows have a multiple of so many values
  int value_bytes;   // of a packed value
  double smallest;   // what one operation may lose when numbers vanish
  int second_look;   // columns of the points whose products take as long as a second look at a product (self_join.cpp)
  /// A(d) of core/screen.h.
  double (*accumulation)(std::int64_t d);

  /// Packs x' = rows[lane] * scale - center. rows: `lanes` pointers, all valid. panel: panel_bytes(d).
  template <class T>
  using PackRows = void (*)(const T* const* rows, std::int64_t d, double scale, const float* center, void* panel,
                            PanelNorms* norms);
  ForPointTypes<PackRows> pack_rows;
  /// Packs rows c~ (count, d), none longer than largest_norm, into whole groups; what is not there becomes zero.
  /// groups: column_bytes(d) for each column of the groups.
  PackedColumns (*pack_columns)(const float* rows, std::int64_t count, std::int64_t d, float largest_norm,
                                void* groups);
  /// tile[column * lanes + lane] = x^ . c^. unit: of the packed columns.
  void (*products)(const void* panel, const void* columns, float unit, std::int64_t d, std::int64_t groups,
                   float* tile);
  ScoreKernels scores;
  /// For measuring: products that never leave the registers, `rounds` times. Returns how many operations that was;
  /// *result keeps them from being left out.
  double (*multiply_adds)(std::int64_t rounds, float* result);

  std::int64_t column_bytes(std::int64_t d) const { return (d + padding - 1) / padding * padding * value_bytes; }
  std::int64_t panel_bytes(std::int64_t d) const {
    return lanes * (column_bytes(d) + static_cast<std::int64_t>(sizeof(float)));  // and a unit for each row
  }
};

/// Kernels that read points of type T.
template <class T>
struct RowKernels {
  /// out (d) = float(row * scale - center).
  CentredNorms (*centre)(const T* row, std::int64_t d, double scale, const float* center, float* out);
  /// D by the definition (core/distance.h).
  using Distance = double (*)(const T* x, const double* c, std::int64_t d);
  Distance distance, inner_product, manhattan, chebyshev;
  /// high[j] += sum of the high limbs of rows[i][j] (low[j] alike when low is not null).
  void (*add_rows)(const T* const* rows, std::int64_t count, std::int64_t d, GridView grid, std::int64_t* high,
                   std::int64_t* low);

  Distance by(Measure measure) const {
    if (measure == Measure::inner_product) return inner_product;
    if (measure == Measure::manhattan) return manhattan;
    return measure == Measure::chebyshev ? chebyshev : distance;
  }
};

/// Sums of distances to many rows, for several queries at a time.
struct RootSumKernels {
  int queries;  // of a panel
  /// sums (queries) += to_fixed(root of D(query, row)) over `count` rows. panel: [column][query]; rows (count, d); the
  /// columns of both in the order of core/tree_order.h.
  void (*add)(const double* panel, const double* rows, std::int64_t count, std::int64_t d, FixedScale scale,
              std::int64_t* sums);
};

struct Instructions {
  const char* name;     // "avx512", as in KITH_CPU
  const char* summary;  // for `kith devices`
  bool (*supported)();

  ScreenKernels fine;    // float32
  ScreenKernels coarse;  // in what the set multiplies fastest; the same where that is float32

  /// Both limbs of each value (to_limbs of core/fixed_point.h); the high one alone, rounded (to_fixed), when low is
  /// null.
  void (*to_grid)(const double* values, std::int64_t count, FixedScale scale, double low_scale, std::int64_t* high,
                  std::int64_t* low);

  RootSumKernels root_sums;
  NarrowKernels narrow;
  ForPointTypes<RowKernels> row_kernels;
  const Instructions* closer;  // a set whose coarse screen decides more rows than this one's, or null

  template <class T>
  const RowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
  /// The faster screen for rows of d columns against k others.
  const ScreenKernels& screen_for(std::int64_t d, std::int64_t k) const {
    // Much of a coarse tile is padding below these, and rows that it leaves open cost more than it saves.
    constexpr std::int64_t kFewColumns = 8, kFewOthers = 16, kLittle = 2048;
    return d > kFewColumns && k > kFewOthers && d * k > kLittle ? coarse : fine;
  }
  /// The screen for rows that the coarse one leaves open for the most part.
  const ScreenKernels& closer_screen() const {
    return closer != nullptr && closer->supported() ? closer->coarse : fine;
  }
};

extern const Instructions kPlain;
#if defined(__x86_64__)
extern const Instructions kAvx2;
extern const Instructions kAvx512;
extern const Instructions kBf16;
extern const Instructions kVnni;
extern const Instructions kAmx;
#elif defined(__aarch64__)
extern const Instructions kNeon;
#endif

/// Every set compiled in, best first, whether this processor has it or not.
std::span<const Instructions* const> instruction_sets();

/// The best set that this processor has, or the one named by the environment variable KITH_CPU. Throws Error(usage) for
/// a name that does not exist or cannot run here.
const Instructions& instructions();

}  // namespace kith::cpu
