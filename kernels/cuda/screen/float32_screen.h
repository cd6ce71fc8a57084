// The float32 screen. Screened rows are values that are centred, scaled and rounded to float32, with the norms that the
// certificate needs; the screening pass multiplies rows and screened centroids by the tiled product.
#pragma once

#include <cstdint>
#include <limits>

#include "core/numbers/screen.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/refinement.h"

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
/// to the bits of the largest |x'|^2 and |x' - x^|^2. Does not wait.
template <class T>
void screen_norms(const HeldRows<T>& held, const T* rows, std::int64_t count, float* norm, float* half_sq_norm,
                  Word* largest);

/// The margin of the tiled product (device/tile.h) against rows with these norms.
ScreenMargin tile_margin(LargestNorms largest, std::int64_t columns, int exponent);
/// The same to `margin` (1), where the norms are on the device as screen_and_measure() has left them. Does not wait.
void queue_tile_margin(const Stream& stream, const Word* largest, std::int64_t columns, int exponent,
                       ScreenMargin* margin);

/// The addends of the scores of a thread's columns; infinite beyond the last of the k columns. half_sq_norm: (k)
__device__ inline void load_half_sq_norms(const float* half_sq_norm, std::int64_t columns, std::int64_t first_column,
                                          const TilePlace& place, float (&out)[8]) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const std::int64_t column = first_column + place.column(j);
    out[j] = column < columns ? __ldg(&half_sq_norm[column]) : std::numeric_limits<float>::infinity();
  }
}

/// The centroids of one assignment in float32 on the device. prepare() transforms and rounds them before their first
/// use.
class Float32Screen {
 public:
  template <class T>
  Float32Screen(const HeldRows<T>& held, std::int64_t count)
      : count_(count),
        screened_(allocate_screened(held, count)),
        largest_norms_(held.pool(), 2),
        margin_(held.pool(), 1) {}

  /// Transforms and rounds the centroids (count, d) unless that is done. Does not wait.
  template <class T>
  void prepare(const HeldRows<T>& held, const double* centroids) {
    if (ready_) return;
    screen_and_measure(held, centroids, count_, screened_, largest_norms_.data());
    queue_tile_margin(held.stream(), largest_norms_.data(), held.columns(), held.plan.screen.exponent, margin_.data());
    ready_ = true;
  }
  ScreenedOperand columns() const { return {screened_.values.data(), count_, screened_.pitch}; }
  const float* half_sq_norm() const { return screened_.half_sq_norm.data(); }
  const ScreenMargin* margin() const { return margin_.data(); }  // (1)

 private:
  std::int64_t count_;
  ScreenedCopies screened_;
  Buffer<Word> largest_norms_;   // (2) of screen_and_measure()
  Buffer<ScreenMargin> margin_;  // (1)
  bool ready_ = false;
};

/// The screening pass of chosen rows of a block. Writes nearest[position] of every row it decides, and appends the
/// others to `ambiguous`, whose count is 0 before. norm: (rows of the block). Does not wait.
template <class T>
void screen_float32(const HeldRows<T>& held, const Float32Screen& screen, PointOperand<T> rows, const RowChoice& which,
                    const float* norm, std::int32_t* nearest, const AmbiguousRows& ambiguous);

}  // namespace kith::cuda
