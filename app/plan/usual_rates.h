// Rates of a processor of two cores, for machines that have not been measured.
#pragma once

#include "app/plan/rates.h"

namespace kith::app {

inline constexpr double kUsualThreads = 2;

/// As `kith bench limits` measured them on an Intel Xeon with AMX at 2.6 GHz, two threads. Joins and distances to means
/// were measured on another processor and divided by the ratio of the times of searches.
Rates usual_rates();

}  // namespace kith::app
