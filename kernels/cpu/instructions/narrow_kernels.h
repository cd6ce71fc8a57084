// The kernels for rows of few columns and for small problems; instructions/narrow.h implements them for each
// instruction set.
//
// Rows are packed in panels: panel[j * lanes + lane] is column j, centred and scaled, of the row in that lane. The best
// score of a row stays in its lane of a register; there is no tile of products. Like instructions.h, this header must
// include nothing that instantiates shared inline code.
#pragma once

#include <cstdint>

#include "core/numbers/fixed_point.h"
#include "kernels/cpu/instructions/point_types.h"

namespace kith::cpu {

inline constexpr int kMarks = 16;                     // columns numbered by the last bits of their scores
inline constexpr double kMarking = kMarks * 0x1p-23;  // the relative change of a score by its number
inline constexpr float kNarrowLongest = 0x1p60F;      // differences of longer rows might overflow
inline constexpr int kNarrowPanelColumns = 4;         // centroids that are multiplied together
static_assert(kMarks % kNarrowPanelColumns == 0);

/// What the score of a row and a centroid is.
enum class NarrowScores {
  products,    // half squared norm - product: errors grow with the longest centroid
  differences  // squared distance: errors grow with it and with the length of the row
};

/// Packed centroids of the narrow screen, and its margin: that of core/numbers/screen.h for products. For differences,
/// the roots of two scores must differ by constant + linear |x^| + quadratic (their sum).
struct NarrowColumns {
  NarrowScores scores;
  const float* column_panels;  // [panel][2 + d][kNarrowPanelColumns]: first terms of scores, numbers, values
  const float* by_column;      // (1 + d, padded): first terms, then values
  std::int64_t count;          // k
  std::int64_t padded;         // k rounded up to whole vectors
  std::int64_t d;
  float constant, linear, quadratic;  // of the margin
};

/// A row that the screening pass did not certify. Its candidates are the centroids whose score is not above the limit.
struct NarrowAmbiguousRow {
  std::int32_t position;
  float limit;
};

/// Sums of reassigned rows: for each cluster the high limbs of `pitch` columns, then the low limbs if there are two.
struct ReassignmentTable {
  std::int64_t* sums;    // (k, limbs, pitch)
  std::int64_t* counts;  // (k)
  const double* first;   // (pitch) factors of the grid, zero beyond d
  const double* second;  // (pitch)
  double low_scale;      // 2^bits of the second limb
  std::int64_t pitch;
  int limbs;
};

/// Labels of rows: the current one, and the one contained in the sums.
struct KeptLabels {
  std::int32_t* label;
  std::int32_t* summed;
};

template <class T>
struct NarrowRowKernels {
  /// Centres and scales `count` rows (count, d) and transposes them into panels. centers: (lanes, d), the centre
  /// repeated. flat: workspace for one panel and a vector. Lanes without a row get finite values.
  void (*pack)(const T* rows, std::int64_t count, std::int64_t d, double scale, const float* centers, float* flat,
               float* panels);
  /// out[i] = D(row i, centroid label[i]) by the definition. centroids: (k, d)
  void (*label_distances)(const T* rows, std::int64_t count, std::int64_t d, const double* centroids,
                          const std::int32_t* label, double* out);
  /// Moves the rows with now[i] != kept.summed[i] from the sums and counts of that cluster (-1: none) to those of
  /// now[i], and stores that label. Returns their number.
  std::int64_t (*reassign)(const T* rows, std::int64_t count, std::int64_t d, const std::int32_t* now, KeptLabels kept,
                           const ReassignmentTable& table);
};

struct NarrowKernels {
  int lanes;                     // rows of a panel
  int floats;                    // of a vector
  double roundings_per_product;  // 1 with fused multiply-add, else 2

  /// Screens `count` rows: writes label[i] in whole panels and lists the ambiguous rows. Returns their number.
  std::int64_t (*screen)(const float* panels, std::int64_t count, const NarrowColumns& columns, std::int32_t* label,
                         NarrowAmbiguousRow* ambiguous);
  /// Candidates of an ambiguous row (`position` in the panels), ascending. Returns their number.
  std::int64_t (*candidates)(const float* panels, const NarrowColumns& columns, NarrowAmbiguousRow row,
                             std::int32_t* found);
  /// Stores labels and counts them: counts[(i % ways) * k + now[i]]. Returns how many differ from those in the sums.
  std::int64_t (*store_labels)(const std::int32_t* now, std::int64_t count, KeptLabels kept, std::int64_t* counts,
                               std::int64_t clusters, std::int64_t ways);

  ForPointTypes<NarrowRowKernels> row_kernels;

  template <class T>
  const NarrowRowKernels<T>& rows() const {
    return row_kernels.of<T>();
  }
};

}  // namespace kith::cpu
