// A result made of labels that something else has chosen: the means of their rows, and what belongs to them.
#pragma once

#include <cstdint>
#include <span>

#include "core/kmeans.h"

namespace kith {

/// Counts, means, inertia and what else options ask for of these labels (n), each below before.rows. Clusters without
/// rows and frozen ones have their centroids of `before` (k, d). The points hold the labels afterwards. Iterations and
/// stops stay empty.
KMeansResult result_from_labels(Points& points, const DataPlan& plan, std::span<const std::int32_t> labels,
                                MatrixView<const double> before, const KMeansOptions& options);

/// Fills nearest_row, frozen, and medoids if options ask for them, from the centroids of a result.
void find_nearest_rows(const Points& points, const KMeansOptions& options, KMeansResult& result);

}  // namespace kith
