// The segmented sort of a search's candidates by distance, alone in its source file because CUB is slow to compile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

/// Candidates of consecutive queries; those of query q are at offset[q] .. offset[q + 1] - 1.
struct CandidateSort {
  const double* distance = nullptr;
  double* sorted_distance = nullptr;  // out
  const std::int32_t* row = nullptr;
  std::int32_t* sorted_row = nullptr;    // out
  const std::int64_t* offset = nullptr;  // (queries + 1)
  std::int64_t count = 0;                // of candidates
  std::int64_t queries = 0;
};

/// Sorts the candidates of each query by distance, ties in their given order. With temporary == nullptr it only sets
/// `bytes` to the size of the temporary memory.
void sort_candidates(const Stream& stream, const CandidateSort& sort, std::byte* temporary, std::size_t& bytes);

}  // namespace kith::cuda
