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

/// ADDS the rows of each label to counts (clusters), and the rows whose label is not the one in the sums to changed
/// (1). Queues only.
void count_labels(const Context& context, const LabelledRows& rows, std::int64_t clusters, Word* counts, Word* changed);

}  // namespace kith::cuda
