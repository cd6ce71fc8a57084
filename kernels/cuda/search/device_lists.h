// Lists of neighbours on the device, the order of their entries, and places of entries in merged lists.
#pragma once

#include <cstdint>

namespace kith::cuda {

/// A list per query, ordered by (distance, index); unfilled entries are (+inf, -1).
struct DeviceLists {
  double* distance = nullptr;     // (queries, k)
  std::int64_t* index = nullptr;  // (queries, k)
};

/// Order of list entries, by (distance, index). The index -1 of an unfilled entry is larger than all others.
__device__ inline bool before(double a_distance, std::int64_t a_index, double b_distance, std::int64_t b_index) {
  if (a_distance != b_distance) return a_distance < b_distance;
  return static_cast<std::uint64_t>(a_index) < static_cast<std::uint64_t>(b_index);
}

/// The number of positions in [0, size) for which `less` holds: the first ones, found by binary search.
template <class Less>
__device__ std::int64_t count_less(std::int64_t size, const Less& less) {
  std::int64_t low = 0, high = size;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (less(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace kith::cuda
