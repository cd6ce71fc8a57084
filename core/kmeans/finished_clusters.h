// What a result of k-means says about clusters whose centroids no longer move, and assignments to given centroids.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans/inertia.h"
#include "core/kmeans/kmeans.h"

namespace kith {

/// What an assignment counted.
IterationRecord record_of(const Assignment& assignment);

/// Warns of values that lose their digits in the integer sums next to far larger ones.
void report_warnings(const DataPlan& plan, Observer& observer);

/// Counts (k) and inertia of the centroids of the result.
void describe_clusters(const DataPlan& plan, std::vector<std::int64_t> counts, Inertia inertia, KMeansResult& result);

/// Labels, distances and nearest rows, from the last assignment to the centroids of the result and its measurement.
void describe_rows(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result);

/// Completes the result of a finished run that a state holds, by an assignment to its centroids. Throws Error(data) if
/// the inertia is not that of the result.
void restore_clusters(Points& points, const DataPlan& plan, const KMeansOptions& options, KMeansResult& result);

/// Throws Error(data): a computation that continues did not reproduce `what` its state holds.
[[noreturn]] void refuse_points(const char* what);

}  // namespace kith
