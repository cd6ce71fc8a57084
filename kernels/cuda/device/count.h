// A count that the host knows, or that only the device knows.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// `most`, or the smaller of `most` and the count on the device: a list of capacity `most` holds no more.
struct Count {
  Count(std::int64_t limit, const Word* number = nullptr) : most(limit), known(number) {}  // NOLINT: implicit

  __device__ std::int64_t get() const { return known == nullptr ? most : min(most, static_cast<std::int64_t>(*known)); }

  std::int64_t most;
  const Word* known;  // null: exactly `most`
};

}  // namespace kith::cuda
