// The definition in plain nested loops: a Points without screens, threads or tricks that every backend must equal.
#pragma once

#include <cstdint>
#include <memory>

#include "core/backend.h"

namespace kith::test {

/// D of docs/contract.md, written out once more, apart from the product's own code.
double reference_distance(const double* x, const double* c, std::int64_t d);
/// The same by any measure.
double reference_distance(Measure measure, const double* x, const double* c, std::int64_t d);

/// Points that answer every verb of the seam by definition. values (n, d) are copied, and so are weights (n), if any.
std::unique_ptr<Points> reference_points(MatrixView<const double> values, std::span<const double> weights = {});

}  // namespace kith::test
