// When Lloyd's iteration stops: one test for the host, and for backends that iterate without it.
#pragma once

#include <cstdint>

#include "core/observer.h"
#include "core/portable.h"

namespace kith {

enum class Stop { none, labels, tolerance, max_iterations };

/// The rules of docs/contract.md, Stopping.
struct StopRule {
  double threshold = -1.0;  // a squared shift of at most this stops; negative: never
  std::int64_t max_iterations = 300;

  /// After `iterations` of them, of which `last` was the last. No test before two assignments: the first has nothing to
  /// be compared with.
  KITH_BOTH Stop test(std::int64_t iterations, const IterationRecord& last) const {
    const bool comparable = iterations >= 2;
    if (comparable && last.changed == 0 && last.relocated == 0) return Stop::labels;
    if (comparable && last.shift <= threshold) return Stop::tolerance;
    return iterations >= max_iterations ? Stop::max_iterations : Stop::none;
  }
};

}  // namespace kith
