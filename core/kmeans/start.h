// The initial centroids of a run: frozen or known centroids, then those of options.init.
#pragma once

#include <utility>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/seeding.h"

namespace kith {

/// The names of the rules: of all starts but given centroids.
inline constexpr std::pair<const char*, Init> kStartRules[] = {{"k-means++", Init::kmeans_plus_plus},
                                                               {"k-means||", Init::kmeans_parallel},
                                                               {"random", Init::random},
                                                               {"first", Init::first},
                                                               {"farthest", Init::farthest}};

/// The start without --init, a rule in the shape of the points (n, d) and the number of clusters k alone, so that a run
/// has the same start on every machine. k-means++ passes over all rows for each centroid, which is most of a run with
/// many centroids; k-means|| costs as much as about seven assignments, whatever k is. So k-means|| is the start if
/// k >= 64 and n d k >= 2^30 (k-means++ then takes more than about 0.2 s on two cores), or if n d >= 2^33 (rows that
/// may not be in memory). docs/performance.md compares the inertias that they lead to.
Init default_init(std::int64_t rows, std::int64_t columns, std::int64_t clusters);

/// Throws Error(usage) naming n, d and k for k out of range or centroids of the wrong shape; Error(data) for frozen
/// centroids so far away that squared distances leave the range of float64.
void check_start(const DataPlan& plan, const KMeansOptions& options);

/// (k, d) The initial centroids of run `run`, from 0. Overwrites the labels and distances that `points` hold. place:
/// where the seeding continues; null: from the start. Nothing if it ends there.
Matrix<double> first_centroids(Points& points, const DataPlan& plan, const KMeansOptions& options, int run,
                               Observer& observer, SeedingPlace* place = nullptr);

}  // namespace kith
