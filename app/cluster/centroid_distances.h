// kith assign --top and --all-distances: distances from every row to its nearest centroids, or to all.
#pragma once

#include <cstdint>

#include "app/run/held_points.h"
#include "app/run/results.h"

namespace kith::app {

struct CentroidDistanceOptions {
  std::int64_t top = 0;  // nearest centroids of each row; 0: none
  bool all = false;
  bool is_none() const { return top == 0 && !all; }
};

/// unwritten: reasons why the output has no place for them.
void add_centroid_distance_options(OptionSet& set, CentroidDistanceOptions& options,
                                   const std::vector<Reason>& unwritten);
/// Throws Error(usage) if --top is larger than the number of centroids.
void check(const CentroidDistanceOptions& options, std::int64_t centroids, const std::string& name);
/// Host bytes for computing them.
std::int64_t centroid_distance_bytes(const CentroidDistanceOptions& options, const data::PointSource& points,
                                     MatrixView<const double> centroids, const CommonOptions& common);

/// Prints the size of these datasets and writes them block by block: /nearest_centroids (n, M) with /nearest_distances
/// (n, M), and /all_distances (n, k), by the definition. Dropped rows have -1 and NaN. centroids: (k, d)
void write_centroid_distances(data::ResultFile& file, const CentroidDistanceOptions& options, const HeldPoints& held,
                              MatrixView<const double> centroids, Job& job);

}  // namespace kith::app
