// The first centroids of a run: those that are frozen, then those of a rule or given ones.
#pragma once

#include "core/kmeans.h"

namespace kith {

/// Throws Error(usage) for k out of range or centroids of the wrong shape, naming n, d and k; Error(data) for frozen
/// centroids so far away that squared distances leave the range of float64.
void check_start(const DataPlan& plan, const KMeansOptions& options);

/// Centroids (k, d) that run number `run`, from 0, begins with. Uses what `points` hold per row.
Matrix<double> first_centroids(Points& points, const DataPlan& plan, const KMeansOptions& options, int run,
                               Observer& observer);

}  // namespace kith
