// The sort of a tree's rows within their segments, alone in its source file because CUB is slow to compile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

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
