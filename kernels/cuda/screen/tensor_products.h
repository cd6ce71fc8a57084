// The bare products of half-precision rows and columns, as the tensor cores of a path add them up: what a test of the
// accumulation bound (core/screen.h) measures.
#pragma once

#include <string>

#include "core/matrix.h"

namespace kith::cuda {

/// out (n, k): rows (n, d) times columns (k, d) transposed, on the first device. Every value must be exactly a half
/// when multiplied by 2^8. screen: "wgmma" or "mma"; throws Error(usage) where the device does not have it.
Matrix<float> tensor_products(const std::string& screen, MatrixView<const float> rows,
                              MatrixView<const double> columns);

}  // namespace kith::cuda
