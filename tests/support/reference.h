// The definition in plain nested loops: Points without screens or threads, which every backend must equal.
#pragma once

#include <cstdint>
#include <memory>

#include "core/points/backend.h"

namespace kith::test {

/// D of docs/contract.md, implemented independently of the program.
double reference_distance(const double* x, const double* c, std::int64_t d);
/// The same for any measure.
double reference_distance(Measure measure, const double* x, const double* c, std::int64_t d);

/// Points that implement every operation by definition. Copies values (n, d) and weights (n), if any.
std::unique_ptr<Points> reference_points(MatrixView<const double> values, std::span<const double> weights = {});

}  // namespace kith::test
