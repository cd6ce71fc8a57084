// The table of instruction sets: what the hot loops ask of the processor, one implementation per set.
//
// Rows are screened in panels of `lanes` rows, one row per vector lane, so that the running minimum of a row needs no
// reduction; columns of the product (centroids, or base rows of a search) come in groups that are broadcast. A tile
// holds the products of one panel with a run of groups: tile[column * lanes + lane].
//
// The files of instructions/ are compiled with their own -m flags. They must include nothing that instantiates shared
// inline code with external linkage (no standard containers): the linker would keep one copy, perhaps the one this
// processor cannot run.
#pragma once

#include <cstdint>
#include <span>

#include "core/fixed_point.h"
#include "kernels/cpu/narrow_kernels.h"
#include "kernels/cpu/point_types.h"

namespace kith::cpu {

inline constexpr int kMaxLanes = 64;
inline constexpr int kTileColumns = 64;  // columns of one tile: it stays in the first-level cache
inline constexpr int kDotBlock = 256;    // columns of the points summed by one chain of multiply-adds

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

/// Kernels that read points of type T.
template <class T>
struct RowKernels {
  /// panel[j * lanes + lane] = float(rows[lane][j] * scale - center[j]); norm[lane] = |x^| up to its rounding.
  /// rows: `lanes` pointers, all valid.
  void (*pack)(const T* const* rows, std::int64_t d, double scale, const float* center, float* panel, float* norm);
  /// D by the definition (core/distance.h).
  double (*distance)(const T* x, const double* c, std::int64_t d);
  /// high[j] += sum of the high limbs of rows[i][j] (low[j] alike when low is not null).
  void (*add_rows)(const T* const* rows, std::int64_t count, std::int64_t d, GridView grid, std::int64_t* high,
                   std::int64_t* low);
};

struct Instructions {
  const char* name;     // "avx512", as in KITH_CPU
  const char* summary;  // for `kith devices`
  bool (*supported)();
  int lanes;                     // rows of a panel
  int group;                     // columns that are multiplied together
  double roundings_per_product;  // 1 with fused multiply-add, else 2

  /// tile[(g * group + r) * lanes + lane] = sum over j of panel[j][lane] * columns[g][j][r], in chains of kDotBlock.
  /// columns: groups laid out [g][j][r].
  void (*products)(const float* panel, const float* columns, std::int64_t d, std::int64_t groups, float* tile);
  /// Running best, second best score and best column per lane; score = half_norm[column] - tile. Columns count from
  /// `first`.
  void (*nearest_two)(const float* tile, const float* half_norm, std::int64_t count, std::int32_t first, float* best,
                      float* second, std::int32_t* index);
  /// Every column of the tile with !(score > limit[lane]); returns how many. hits: room for count * lanes.
  std::int64_t (*within)(const float* tile, const float* half_norm, std::int64_t count, const float* limit, Hit* hits);

  /// Both limbs of each value (to_limbs of core/fixed_point.h); the high one alone, rounded (to_fixed), when low is
  /// null.
  void (*to_grid)(const double* values, std::int64_t count, FixedScale scale, double low_scale, std::int64_t* high,
                  std::int64_t* low);

  /// For measuring: chains of multiply-adds that never leave the registers, `rounds` of each. Returns how many
  /// floating-point operations that was; *result keeps them from being left out.
  double (*multiply_adds)(std::int64_t rounds, float* result);

  NarrowKernels narrow;
  ForPointTypes<RowKernels> row_kernels;

  template <class T>
  const RowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
  /// A(d) of core/screen.h: a chain of kDotBlock products, then one addition per block.
  double accumulation(std::int64_t d) const {
    const std::int64_t chain = d < kDotBlock ? d : kDotBlock;
    const std::int64_t blocks = (d + kDotBlock - 1) / kDotBlock;
    return (roundings_per_product * static_cast<double>(chain) + static_cast<double>(blocks) + 1) * 0x1p-24 * 1.001;
  }
};

extern const Instructions kPlain;
#if defined(__x86_64__)
extern const Instructions kAvx2;
extern const Instructions kAvx512;
#endif

/// Every set compiled in, best first, whether this processor has it or not.
std::span<const Instructions* const> instruction_sets();

/// The best set that this processor has, or the one named by the environment variable KITH_CPU. Throws Error(usage) for
/// a name that does not exist or cannot run here.
const Instructions& instructions();

}  // namespace kith::cpu
