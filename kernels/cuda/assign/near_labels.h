// Decides rows among the centroids that the triangle inequality leaves near a guess: by the local screen where they are
// many, else by the definition.
#pragma once

#include <cstdint>

#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/assign/fp16_screen.h"
#include "kernels/cuda/assign/local_screen.h"
#include "kernels/cuda/choice/assignment.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {

/// The unit in which lists of an assignment measure distances, that of the fp16 rows: 1 / unit.
template <class T>
double distance_unit(const HeldRows<T>& held);

/// Samples the chosen rows, with `nearest` as guesses. It overestimates, since the candidates of a row decrease as
/// nearer ones are found. values: of the block. Waits for the device.
template <class T>
CandidateSample sample_candidates(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                                  const std::int32_t* nearest, const double* centroids, std::int64_t clusters);

/// The same where the lists of the centroids exist. standing: (clusters) of MergedGuesses.
template <class T>
CandidateSample sample_listed(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                              const std::int32_t* nearest, const double* centroids, std::int64_t clusters,
                              const CentroidListsView& lists, const std::int32_t* standing);

/// Rows to decide, and where results go.
struct NearTask {
  RowChoice rows;
  const float* limit = nullptr;     // (count) of AmbiguousRows, passed on with rows that are not decided; null: none
  std::int32_t* nearest = nullptr;  // (rows of the block) in: guesses; out: labels
  std::int64_t most = 0;            // a row with more candidates is not measured; 0: only if its list is too short
  std::int64_t screened = 0;        // candidates of a row that the local screen scores before; 0: it is not used
  bool merged = false;              // guesses near each other share a list of the local screen
};

struct NearCounts {
  Word rest = 0;       // rows that the most recent decide() left ambiguous
  Word distances = 0;  // computed since the construction
};

/// Device memory of pruned assignments to one set of centroids.
class NearAssignment {
 public:
  NearAssignment() = default;
  /// Allocates, and makes the lists of centroids (clusters, d) on the device. Does not wait. Throws OutOfMemory.
  template <class T>
  NearAssignment(const HeldRows<T>& held, const double* centroids, std::int64_t clusters);
  explicit operator bool() const { return lists_.view().length > 0; }

  /// The numbers of candidates of a sample of rows of a block, which `nearest` has guesses for. values: of the block.
  /// Waits for the device.
  template <class T>
  CandidateSample sample(const HeldRows<T>& held, const T* values, const RowChoice& rows, const std::int32_t* nearest,
                         const double* centroids) {
    const CentroidListsView lists = lists_.view();
    return sample_listed(held, values, rows, nearest, centroids, clusters_, lists,
                         merged_.standing(*held.context, lists));
  }

  /// Decides rows of a block: nearest[position] = argmin of D, ties to the lowest. values: of the block. Rows with too
  /// many candidates are appended to rest() instead. Does not wait.
  template <class T>
  void decide(const HeldRows<T>& held, const T* values, const double* centroids, const NearTask& rows);

  /// The rows of the most recent decide() that it left ambiguous.
  AmbiguousRows rest() const { return {row_.data(), limit_.data(), counters_.data()}; }
  /// Waits for the device.
  NearCounts download_counts(const Stream& stream) const;
  /// Whether no row can have more candidates than its list.
  bool complete() const { return lists_.view().complete; }

 private:
  std::int64_t clusters_ = 0;
  /// The local screen for lists of this length; false if there is no memory for it.
  template <class T>
  bool make_local(const HeldRows<T>& held, std::int64_t length);

  CentroidLists lists_;
  LocalScreen local_;
  RowsByGuess order_;
  MergedGuesses merged_;
  Buffer<std::int32_t> row_;  // (rows of a block)
  Buffer<float> limit_;       // (rows of a block)
  Buffer<Word> counters_;     // those of NearCounts
};

/// Replaces labels that are no guesses (guess_of) by the best column of the row's best group, by the fp16 rows. groups:
/// of kGroupColumns columns. Does not wait.
template <class T>
void guess_in_groups(const HeldRows<T>& held, const Block<T>& block, const Fp16Columns& columns, const RowChoice& rows,
                     const RowGroups& groups, std::int32_t* nearest);

}  // namespace kith::cuda
