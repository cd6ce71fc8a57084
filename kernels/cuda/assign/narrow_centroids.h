// Packs centroids for the screen of few columns.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Transforms and rounds centroids (clusters, d) into groups (groups, d, kNarrowGroup). Missing ones of the last group
/// are infinitely far, and so are those that equal an earlier one: ties go to the lowest. center: (d) on the device;
/// scale: 2^-exponent of the screen. Queues only.
void pack_narrow_centroids(const Context& context, const double* centroids, std::int64_t clusters, std::int64_t d,
                           double scale, const float* center, float* groups);

}  // namespace kith::cuda
