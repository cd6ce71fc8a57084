// Rounds rows to fp16: centres, scales, rounds and swizzles them, and measures their norms. As many lanes of a warp
// share a row as it has chunks.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/fp16_rows.h"

namespace kith::cuda {

/// A row whose copy holds (x scale - center) 2^kFp16Shift.
template <class X>
struct RowToRound {
  const X* values = nullptr;  // (d); null: there is no row, and the copy is zero
  double scale = 1.0;
  const float* center = nullptr;  // (d); null: zero
};

struct Fp16Output {
  uint4* values = nullptr;
  Fp16Layout shape;
  int lanes = kWarp;              // that share a row; a power of two
  Word* largest = nullptr;        // (2); null: the rows have been measured before
  float* norm = nullptr;          // (rows) points only
  float* residual = nullptr;      // (rows)
  float* half_sq_norm = nullptr;  // (rows) centroids only, in the order of slot_of_column
};

/// Input has padded, d, and row(i).
template <class Input>
__global__ void fp16_kernel(const Input in, Fp16Output out) {
  constexpr double kUp = 1 << kFp16Shift;
  double largest_norm = 0.0, largest_residual = 0.0;
  const int rows_together = kWarp / out.lanes, lane = lane_index() % out.lanes;
  for (std::int64_t first = warp_index() * rows_together; first < in.padded; first += warp_count() * rows_together) {
    const std::int64_t i = first + lane_index() / out.lanes;  // `padded` is a multiple of rows_together
    const std::int64_t place = out.half_sq_norm != nullptr ? slot_of_column(i) : i;
    const auto row = in.row(i);
    const bool is_row = row.values != nullptr, centres = row.center != nullptr;
    double exact = 0.0, rounded = 0.0, lost = 0.0;
    for (std::int64_t chunk = lane; chunk < out.shape.depth_tiles * out.shape.chunks; chunk += out.lanes) {
      __half packed[kChunkValues];
#pragma unroll
      for (int t = 0; t < kChunkValues; ++t) {
        const std::int64_t j = chunk * kChunkValues + t;
        const bool exists = is_row && j < in.d;
        const double center = exists && centres ? static_cast<double>(row.center[j]) : 0.0;
        const double centred = exists ? kUp * (static_cast<double>(row.values[j]) * row.scale - center) : 0.0;
        packed[t] = __double2half(centred);
        const double value = static_cast<double>(__half2float(packed[t]));
        exact += centred * centred;
        rounded += value * value;
        lost += (centred - value) * (centred - value);
      }
      uint4 bits;
      memcpy(&bits, packed, sizeof bits);
      const int at = static_cast<int>(chunk);
      out.values[out.shape.place(place, at / out.shape.chunks, at % out.shape.chunks)] = bits;
    }
    exact = group_total(exact, out.lanes);
    rounded = group_total(rounded, out.lanes);
    lost = group_total(lost, out.lanes);
    if (!(lost <= exact)) exact = lost = std::numeric_limits<double>::infinity();  // a value beyond the range of fp16
    largest_norm = exact > largest_norm ? exact : largest_norm;
    largest_residual = lost > largest_residual ? lost : largest_residual;
    if (lane != 0 || !is_row) continue;
    if (out.norm != nullptr) out.norm[i] = __double2float_ru(__dsqrt_ru(rounded));
    if (out.residual != nullptr) out.residual[i] = __double2float_ru(__dsqrt_ru(lost));
    if (out.half_sq_norm != nullptr) out.half_sq_norm[i] = static_cast<float>(exact / 2);
  }
  if (lane != 0 || out.largest == nullptr) return;
  atomicMax(&out.largest[0], bits_of(largest_norm));
  atomicMax(&out.largest[1], bits_of(largest_residual));
}

/// Rounds in.padded rows, which are whole groups of 128. Asynchronous.
template <class Input>
void round_to_fp16(const Context& context, const Input& in, Fp16Output out) {
  out.lanes = lanes_sharing(out.shape.depth_tiles * out.shape.chunks);
  if (out.largest != nullptr) context.stream.fill(out.largest, 0, 2);
  fp16_kernel<<<context.grid(in.padded * out.lanes, kBlock), kBlock, 0, context.stream>>>(in, out);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
