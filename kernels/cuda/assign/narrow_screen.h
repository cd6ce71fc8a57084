// The screen for rows of few columns: squared distances of float32 differences, with whole rows in registers.
//
// Their errors are relative to the distances (core/numbers/screen.h), so rows of dense clusters, of unscaled
// columns and beside outliers are certified as rows of noise are. A second kernel decides the ambiguous
// rows by the definition.
#pragma once

#include <cstdint>

#include "kernels/cuda/choice/assignment.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

inline constexpr int kNarrowGroup = 8;         // centroids that are screened together
inline constexpr float kNarrowAbsent = 3e38F;  // first terms of the scores of a centroid that does not exist

/// Transforms and rounds centroids (clusters, d) into groups (groups, d + 1, kNarrowGroup): the first terms of scores,
/// 0, then d columns. The first terms are kNarrowAbsent for missing centroids of the last group and for those that
/// equal an earlier one, since ties go to the lowest. center: (d) on the device; scale: 2^-exponent of the screen.
/// Queues only.
void pack_narrow_centroids(const Context& context, const double* centroids, std::int64_t clusters, std::int64_t d,
                           double scale, const float* center, float* groups);

/// The centroids of an assignment in float32, in groups, and the counts of the assignment.
class NarrowScreen {
 public:
  NarrowScreen() = default;
  /// Allocates memory for `clusters` centroids.
  template <class T>
  NarrowScreen(const HeldRows<T>& held, std::int64_t clusters);

  /// Packs the centroids (clusters, d), which must outlive the calls of assign(). Does not wait.
  template <class T>
  void begin(const HeldRows<T>& held, const double* centroids);

  /// Sets nearest[position] of all rows of a block; its lists of ambiguous rows need memory for all of them. Call it
  /// once for each block, in order. Does not wait.
  template <class T>
  void assign(const HeldRows<T>& held, const PointOperand<T>& rows, AmbiguousRows ambiguous, std::int32_t* nearest);

  /// Ambiguous rows of all blocks, and their distances. Waits for the device.
  RefinementCounts download_counts(const Stream& stream) const;

 private:
  std::int64_t clusters_ = 0;
  const double* centroids_ = nullptr;  // (clusters, d)
  Buffer<float> groups_;               // of pack_narrow_centroids()
  /// Distances, then the ambiguous rows of each block.
  Buffer<Word> counts_;
  static constexpr std::int64_t kCountsBeforeBlocks = 1;
  std::int64_t blocks_done_ = 0;
};

}  // namespace kith::cuda
