// The sorts of CUB that searches need, alone in their source file because CUB is slow to compile.
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

/// Keys and rows, each in two buffers of `count`. `current` is the one that holds them.
struct RowOrder {
  std::uint64_t* key[2] = {};
  std::int32_t* row[2] = {};
  std::int64_t count = 0;
  int current = 0;
};

/// Sorts by the lowest `bits` bits of the keys; equal keys keep their order. With temporary == nullptr it only sets
/// `bytes` to the size of the temporary memory.
void sort_by_key(const Stream& stream, RowOrder& order, int bits, std::byte* temporary, std::size_t& bytes);

}  // namespace kith::cuda
