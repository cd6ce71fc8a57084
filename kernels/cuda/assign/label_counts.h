// The number of rows of each label, and of labels that changed.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Labels of rows, and the labels that the sums include.
struct LabelledRows {
  const std::int32_t* label;   // (count)
  const std::int32_t* summed;  // (count)
  std::int64_t count;
};

/// Sums over blocks of rows.
class LabelCounts {
 public:
  LabelCounts(Pool& pool, const Stream& stream, std::int64_t clusters);
  Word* counts() const { return counts_.data(); }               // (k) rows of each label
  Word* changed() const { return counts_.data() + clusters_; }  // (1) rows whose label is not the one in the sums

  /// Queues only.
  void add(const Context& context, const LabelledRows& rows) const;
  /// Restores the state before add() except for the changed labels. Queues only.
  void forget_counts(const Stream& stream) const { stream.fill(counts_.data(), 0, clusters_); }
  /// ADDS the counts to the assignment, and returns the number of changed labels. Waits.
  std::int64_t download(const Stream& stream, Assignment& assignment) const;

 private:
  std::int64_t clusters_;
  Buffer<Word> counts_;  // (k + 1)
};

}  // namespace kith::cuda
