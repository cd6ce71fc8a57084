// Packs centroids for the screen of few columns.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Transforms and rounds centroids (clusters, d) into groups (groups, d + 2, kNarrowGroup): the first terms of
/// differences, 0; d columns; the first terms of products, |c'|^2 / 2. Both are kNarrowAbsent for missing centroids of
/// the last group and for those that equal an earlier one, since ties go to the lowest. center: (d) on the device;
/// scale: 2^-exponent of the screen; largest: (2) raised to the bits of the largest |c'|^2 and |c' - c^|^2. Queues
/// only.
void pack_narrow_centroids(const Context& context, const double* centroids, std::int64_t clusters, std::int64_t d,
                           double scale, const float* center, float* groups, Word* largest);

}  // namespace kith::cuda
