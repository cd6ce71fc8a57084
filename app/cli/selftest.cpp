// A check, at every start, that this build and this processor compute as IEEE 754 says.
//
// A library that is loaded with the program can switch the processor to flushing subnormals to zero, and a package may
// have been built with -ffast-math; either would make kith's answers differ silently from its definition.
#include "app/cli/selftest.h"

#include <cmath>
#include <limits>

namespace kith::app {
namespace {

/// Keeps the compiler from knowing the value.
template <class T>
T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

}  // namespace

std::string arithmetic_defect() {
  const double one = opaque(1.0), ulp = opaque(0x1p-52);
  if (one + ulp * opaque(0.5) != 1.0 || one + ulp * opaque(0.75) != 1.0 + 0x1p-52 ||
      -one - ulp * opaque(0.75) != -1.0 - 0x1p-52) {
    return "sums of float64 are not rounded to nearest";
  }
  const double a = opaque(1.0 + 0x1p-30), rounded_square = opaque(1.0 + 0x1p-29);
  if (std::fma(a, a, -rounded_square) != 0x1p-60) return "fma rounds twice";
  if (a * a - rounded_square != 0.0) return "products and sums are contracted to fma (-ffp-contract)";
  const double huge = opaque(0x1p60);
  if ((one + huge) - huge != 0.0) return "sums are reordered (-ffast-math)";
  if (opaque(std::numeric_limits<double>::min()) * opaque(0.5) == 0.0 ||
      opaque(std::numeric_limits<float>::min()) * opaque(0.5F) == 0.0F) {
    return "subnormal results are flushed to zero";
  }
  if (opaque(std::numeric_limits<double>::denorm_min()) * opaque(0x1p60) == 0.0 ||
      static_cast<double>(opaque(std::numeric_limits<float>::denorm_min())) == 0.0) {
    return "subnormal operands are taken for zero";
  }
  const double nan = opaque(std::numeric_limits<double>::quiet_NaN());
  if (nan == nan || std::isfinite(nan)) return "NaN is not recognised (-ffast-math)";
  if (std::sqrt(opaque(2.0)) != 0x1.6a09e667f3bcdp+0) return "square roots are not correctly rounded";
  return "";
}

}  // namespace kith::app
