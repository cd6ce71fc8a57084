// The table of what rows of few columns, and small problems, ask of the processor; one implementation per instruction
// set, in instructions/narrow.h.
//
// Rows come in panels: panel[j * lanes + lane] is column j, centred and scaled, of the row in that lane. The running
// best of a row stays in its lane of a register; no tile of products is made. Like instructions.h, this header must
// include nothing that instantiates shared inline code.
#pragma once

#include <cstdint>

#include "core/fixed_point.h"
#include "kernels/cpu/instructions/point_types.h"

namespace kith::cpu {

inline constexpr int kMarks = 16;                     // columns told apart by the last bits of their scores
inline constexpr double kMarking = kMarks * 0x1p-23;  // what that changes, relative to the score
inline constexpr int kNarrowGroup = 4;                // centroids that are multiplied together
static_assert(kMarks % kNarrowGroup == 0);

/// Centroids as the narrow screen multiplies them, and its margin (core/screen.h).
struct NarrowColumns {
  const float* groups;     // [g][2 + d][kNarrowGroup]: half-norms, numbers in their last bits, values
  const float* by_column;  // (1 + d, padded): half-norms, then values
  std::int64_t count;      // k
  std::int64_t padded;     // k rounded up to whole vectors
  std::int64_t d;
  float constant, linear, quadratic;  // of the margin
};

/// A row that the first look did not decide: every centroid whose score is not above the limit may be the nearest.
struct NarrowAmbiguousRows {
  std::int32_t position;
  float limit;
};

/// Where moved rows are added up: for each cluster the high limbs of `pitch` columns, then the low ones if there are
/// two limbs.
struct ReassignmentTable {
  std::int64_t* sums;    // (k, limbs, pitch)
  std::int64_t* counts;  // (k)
  const double* first;   // (pitch) factors of the grid, zero beyond d
  const double* second;  // (pitch)
  double low_scale;      // 2^bits of the second limb
  std::int64_t pitch;
  int limbs;
};

/// Labels kept for rows: the current one, and the one in the sums.
struct KeptLabels {
  std::int32_t* label;
  std::int32_t* summed;
};

template <class T>
struct NarrowRowKernels {
  /// Centres and scales `count` rows (count, d) and turns them into panels. centers: (lanes, d) the centre of every
  /// row. flat: room for one panel and a vector. What stands in lanes without a row is finite.
  void (*pack)(const T* rows, std::int64_t count, std::int64_t d, double scale, const float* centers, float* flat,
               float* panels);
  /// out[i] = D(row i, centroid label[i]) by the definition. centroids: (k, d)
  void (*own_distances)(const T* rows, std::int64_t count, std::int64_t d, const double* centroids,
                        const std::int32_t* label, double* out);
  /// Moves the rows with now[i] != kept.summed[i] from the sums and counts of that cluster (-1: none) to those of
  /// now[i], and keeps that label. Returns how many moved.
  std::int64_t (*move)(const T* rows, std::int64_t count, std::int64_t d, const std::int32_t* now, KeptLabels kept,
                       const ReassignmentTable& table);
};

struct NarrowKernels {
  int lanes;                     // rows of a panel
  int floats;                    // of a vector
  double roundings_per_product;  // 1 with fused multiply-add, else 2

  /// label[i] of `count` rows in panels, written in whole panels; those not decided are listed. Returns how many.
  std::int64_t (*look)(const float* panels, std::int64_t count, const NarrowColumns& columns, std::int32_t* label,
                       NarrowAmbiguousRows* ambiguous);
  /// The centroids that an ambiguous row (`position` in the panels) may belong to, ascending. Returns how many.
  std::int64_t (*candidates)(const float* panels, const NarrowColumns& columns, NarrowAmbiguousRows row,
                             std::int32_t* found);
  /// Keeps labels and counts them: counts[(i % ways) * k + now[i]]. Returns how many differ from those in the sums.
  std::int64_t (*settle)(const std::int32_t* now, std::int64_t count, KeptLabels kept, std::int64_t* counts,
                         std::int64_t clusters, std::int64_t ways);

  ForPointTypes<NarrowRowKernels> row_kernels;

  template <class T>
  const NarrowRowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
};

}  // namespace kith::cpu
