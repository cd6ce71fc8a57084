// The screen of seeding: a low-precision pass over all rows that proves for most of them that no seeding candidate is
// nearer than the nearest seed so far.
#pragma once

#include <cstdint>

#include "core/numbers/screen.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Seeding candidates in the form that the screen multiplies.
struct ScreenedCandidates {
  int count = 0;
  Buffer<float> half_sq_norm;  // (kMostCandidates) float(|c'|^2 / 2), zero beyond the candidates
  Buffer<float> values;        // (d rounded up to a multiple of 4, count to one of 8) c^; empty if fp16 is used
  Fp16Rows fp16;               // c^ in fp16; empty if float32 is used
  ScreenMargin margin;         // 2 E; with fp16 excluding the rounding of the row itself
  float per_residual = 0.0F;   // 2 E per unit of a row's residual
};

/// candidates (t, d): in host memory; on_device: the same values. Waits for the device.
template <class T>
ScreenedCandidates screen_candidates(const HeldRows<T>& held, MatrixView<const double> candidates,
                                     const double* on_device);

/// Sets bit t of near[i], for row i of the block, unless the screen proves that D(x, candidate t) is at least the row's
/// minimum distance. values: the block's rows on the device.
template <class T>
void find_near(const HeldRows<T>& held, const ScreenedCandidates& candidates, const Block<T>& block, const T* values,
               std::uint32_t* near);

}  // namespace kith::cuda
