// Squared distances between rows and centers, in float64.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Squared distances (rows, centers) on the device.
struct CenterDistances {
  double* squared = nullptr;
  std::int64_t centers = 0;
};

/// Fills `out` for rows (count, d) and centers (out.centers, d), both on the device. Asynchronous.
void measure_centers(const Context& context, const double* rows, std::int64_t count, std::int64_t d,
                     const double* centers, const CenterDistances& out);

}  // namespace kith::cuda
