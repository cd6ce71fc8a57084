// A count that the host knows, or that only the device knows.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// `most`, or the smaller of `most` and the count on the device: a list of capacity `most` holds no more.
struct Count {
  Count(std::int64_t limit, const Word* number = nullptr) : most(limit), known(number) {}  // NOLINT: implicit
  /// The count on the device, but 0 if it is above `limit`: for work that is done again if a list overflowed.
  static Count all_or_none(std::int64_t limit, const Word* number) {
    Count count(limit, number);
    count.or_none = true;
    return count;
  }

  __device__ std::int64_t get() const {
    if (known == nullptr) return most;
    const auto number = static_cast<std::int64_t>(*known);
    return number <= most ? number : or_none ? 0 : most;
  }

  std::int64_t most;
  const Word* known;  // null: exactly `most`
  bool or_none = false;
};

}  // namespace kith::cuda
