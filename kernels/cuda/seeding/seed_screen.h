// Looks at all rows in low precision to prove for most of them that no seeding candidate is nearer than the kept
// distance.
#pragma once

#include <cstdint>

#include "core/screen.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Seeding candidates as the screen multiplies them, ready for every block of rows.
struct ScreenedCandidates {
  int count = 0;
  Buffer<float> half_sq_norm;  // (kMostCandidates) float(|c'|^2 / 2), zero beyond the candidates
  Buffer<float> values;        // (d up to a multiple of four, candidates up to one of eight) c^; empty with fp16
  Fp16Rows fp16;               // c^ in half precision, where the held rows are
  ScreenMargin margin;         // 2 E; with fp16 without the rounding of the row itself
  float per_residual = 0.0F;   // 2 E per unit of a row's residual
};

/// candidates (t, d): in the caller's memory, and the same on the device. Waits for the device.
template <class T>
ScreenedCandidates screen_candidates(const HeldRows<T>& held, MatrixView<const double> candidates,
                                     const double* on_device);

/// near[position] (of the block): bit t unless it is proved that D(x, candidate t) >= the kept distance. values: the
/// block's rows on the device.
template <class T>
void find_near(const HeldRows<T>& held, const ScreenedCandidates& candidates, const Block<T>& block, const T* values,
               std::uint32_t* near);

}  // namespace kith::cuda
