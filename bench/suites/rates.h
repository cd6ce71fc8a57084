// The rates of kith's operations for `kith plan`.
#pragma once

#include <vector>

#include "app/plan/rates.h"
#include "bench/suites/bench.h"

namespace kith::app {

/// Times every operation on noise of several shapes, and the page cache. Takes a few seconds.
Rates measure_rates(BenchRun& run, double memory_rate);

}  // namespace kith::app
