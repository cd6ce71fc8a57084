// Screened rows: values that are centred, scaled and rounded to float32, and the norms that the certificate needs.
#pragma once

#include <cstdint>

#include "core/numbers/screen.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Screened copies of a few rows (centroids, queries) on the device.
struct ScreenedCopies {
  Buffer<float> values;        // (rows, pitch), zero beyond the columns
  Buffer<float> norm;          // (rows) |x^|, rounded up
  Buffer<float> half_sq_norm;  // (rows) float(|x'|^2 / 2)
  int pitch = 0;               // columns, rounded up to the depth of a tile
};

/// Allocates `rows` screened rows.
template <class T>
ScreenedCopies allocate_screened(const HeldRows<T>& held, std::int64_t rows);

/// Screens `rows` rows of float64 on the device as the held points are screened. rows: (count, d)
template <class T>
void screen_copies(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out);

/// The same, and the largest norms of all rows. largest: (2) on the device, bits of the largest |x'|^2 and |x' - x^|^2,
/// out.
template <class T>
void screen_and_measure(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out,
                        Word* largest);
/// The norms of rows (count, d) of the held points on the device. norm, half_sq_norm: (count) out. largest: (2) raised
/// to the bits of the largest |x'|^2 and |x' - x^|^2. Queues only.
template <class T>
void screen_norms(const HeldRows<T>& held, const T* rows, std::int64_t count, float* norm, float* half_sq_norm,
                  Word* largest);

/// The margin of the tiled product (device/tile.h) against rows with these norms.
ScreenMargin tile_margin(LargestNorms largest, std::int64_t columns, int exponent);
/// The same to `margin` (1), where the norms are on the device as screen_and_measure() has left them. Queues only.
void queue_tile_margin(const Stream& stream, const Word* largest, std::int64_t columns, int exponent,
                       ScreenMargin* margin);

}  // namespace kith::cuda
