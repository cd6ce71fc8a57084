// The first rungs on the processor: one value at a time. This file is compiled without vectorisation.
#include <algorithm>

#include "bench/ladders/cpu/ladder.h"

namespace kith::cpu {

void plain_add(const float* a, const float* b, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

void plain_distances(const float* a, const float* b, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                     float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* sums = out + i * columns;
    std::fill_n(sums, columns, 0.0F);
    for (std::int64_t j = 0; j < depth; ++j) {
      const float value = a[i * depth + j];
      for (std::int64_t c = 0; c < columns; ++c) {
        const float difference = value - b[j * columns + c];
        sums[c] += difference * difference;
      }
    }
  }
}

}  // namespace kith::cpu
