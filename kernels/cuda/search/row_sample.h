// Copies of chosen rows, and rows drawn at random, which tell how searches of all rows will behave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/numbers/philox.h"
#include "core/points/matrix.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// out (count, d): the rows at the positions `row`.
template <class T, class Out>
__global__ void gather_kernel(const T* values, const std::int32_t* row, std::int64_t count, std::int64_t d, Out* out) {
  for (std::int64_t i = thread_index(); i < count * d; i += thread_count())
    out[i] = static_cast<Out>(values[row[i / d] * d + i % d]);
}

/// `most` rows, or as many as there are, drawn with replacement. stream: of the random numbers. Requires resident rows.
/// Waits for the device.
template <class T>
Matrix<double> draw_sample(const HeldRows<T>& held, std::int64_t most, std::uint64_t stream) {
  const std::int64_t count = std::min(most, held.rows()), d = held.columns();
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = 0; i < count; ++i)
    chosen.push_back(static_cast<std::int32_t>(random_below(0, stream, static_cast<std::uint64_t>(i), held.rows())));
  const Buffer<std::int32_t> positions(held.pool(), count);
  const Buffer<double> values(held.pool(), count * d);
  held.stream().upload(positions.data(), chosen.data(), count);
  gather_kernel<<<held.context->grid(count * d, kBlock), kBlock, 0, held.stream()>>>(
      held.resident.data(), positions.data(), count, d, values.data());
  check(cudaGetLastError());
  Matrix<double> rows(count, d);
  held.stream().download(rows.data(), values.data(), rows.size());
  return rows;
}

}  // namespace kith::cuda
