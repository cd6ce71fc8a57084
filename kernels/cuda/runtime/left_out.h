// Parts of the contract that `kith bench` leaves out to measure what they cost. What is computed without one is not
// exact.
#pragma once

#include <string>

namespace kith::cuda {

struct LeftOut {
  bool certificate = false;   // the screen keeps the best score alone, and nothing is proved
  bool refine = false;        // rows that the screen cannot decide keep their best column
  bool integer_sums = false;  // sums over rows are floating-point atomics

  /// Whether every row has its label after one look.
  bool one_look() const { return certificate || refine; }
};

/// By BackendOptions::without. Throws Error(usage) for a name that is not one.
LeftOut left_out(const std::string& name);

}  // namespace kith::cuda
