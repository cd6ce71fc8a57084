// The stopping rules of Lloyd's iteration, shared by the host and by backends that iterate on their own.
#pragma once

#include <cstdint>

#include "core/points/observer.h"
#include "core/runtime/portable.h"

namespace kith {

enum class Stop { none, labels, tolerance, max_iterations };

/// The rules of docs/contract.md, Stopping.
struct StopRule {
  double threshold = -1.0;  // stop at a squared shift of at most this; negative: never
  std::int64_t max_iterations = 300;

  /// The rule that stops after iteration number `iterations`, whose record is `last`. The first iteration is not tested
  /// for labels and tolerance, since it has no predecessor.
  KITH_BOTH Stop test(std::int64_t iterations, const IterationRecord& last) const {
    const bool comparable = iterations >= 2;
    if (comparable && last.changed == 0 && last.relocated == 0) return Stop::labels;
    if (comparable && last.shift <= threshold) return Stop::tolerance;
    return iterations >= max_iterations ? Stop::max_iterations : Stop::none;
  }
};

}  // namespace kith
