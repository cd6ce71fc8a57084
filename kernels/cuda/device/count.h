// A number of things that the host knows, or only the device.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {

/// `most`, or fewer where the number is on the device: what is beyond `most` found no room.
struct Count {
  Count(std::int64_t limit, const Word* number = nullptr) : most(limit), known(number) {}  // NOLINT: a number is one

  __device__ std::int64_t get() const { return known == nullptr ? most : min(most, static_cast<std::int64_t>(*known)); }

  std::int64_t most;
  const Word* known;  // null: there are `most`
};

}  // namespace kith::cuda
