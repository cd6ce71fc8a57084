// The products of fp16 rows and columns as the tensor cores of a path accumulate them, for the test of the
// accumulation bound (core/numbers/screen.h).
#pragma once

#include <string>

#include "core/points/matrix.h"

namespace kith::cuda {

/// out (n, k): rows (n, d) times columns (k, d) transposed, on the first device. Every value times 2^8
/// must be an fp16 number. screen: "wgmma" or "mma"; throws Error(usage) if the device does not support it.
Matrix<float> tensor_products(const std::string& screen, MatrixView<const float> rows,
                              MatrixView<const double> columns);

}  // namespace kith::cuda
