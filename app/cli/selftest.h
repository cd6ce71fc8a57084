// A check, at every start, that this build and this processor compute as IEEE 754 says.
#pragma once

#include <string>

namespace kith::app {

/// What is wrong, or empty: rounding to nearest, one rounding in fma and none besides, subnormals kept, NaN not equal
/// to itself, sums in the order written. Costs nanoseconds.
std::string arithmetic_defect();

}  // namespace kith::app
