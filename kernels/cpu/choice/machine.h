// What the processor can do in a second, and what the steps cost of which all methods of this backend consist.
#pragma once

#include <cstdint>

#include "core/points/decision.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

/// The rates of `threads` threads with these instructions: those of a Xeon with the clock that it has (machine.cpp).
/// Threads share the bandwidth of the memory, but methods are compared on data that mostly stay in the caches.
Machine processor_machine(const Instructions& set, int threads);

/// Seconds of the steps of methods, with all threads at work.
struct Prices {
  /// screen: whose products are priced, for rows of d columns.
  Prices(const Instructions& set, const ScreenKernels& screen, int threads, std::int64_t d);

  Machine machine;
  double product;           // the score of a row and another row by the screen
  double float32_distance;  // the same between centroids, in float32, and its comparison with a limit
  double definition;        // a distance by the definition, of rows that are read in order
  double candidate;         // the same of a row anywhere, and its place in a list
  double packing;           // centring a row and packing it for a screen
};

}  // namespace kith::cpu
