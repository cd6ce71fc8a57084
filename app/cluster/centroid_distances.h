// kith assign --top and --all-distances: from every row to its nearest centroids, or to all.
#pragma once

#include <cstdint>

#include "app/run/job.h"
#include "app/run/results.h"

namespace kith::app {

struct CentroidDistances {
  std::int64_t top = 0;  // nearest centroids of each row; 0: none
  bool all = false;
  bool is_none() const { return top == 0 && !all; }
};

void add_centroid_distance_options(OptionSet& set, CentroidDistances& options);
/// Throws Error(usage) for more nearest centroids than there are.
void check(const CentroidDistances& options, std::int64_t centroids, const std::string& name);
/// Warns where they would not be written.
void warn_of_centroid_distances(const OptionSet& set, bool labels_alone, Invocation& invocation);
/// Host bytes that computing them takes.
std::int64_t centroid_distance_bytes(const CentroidDistances& options, const data::PointSource& points,
                                     const data::PointSource& centroids, const CommonOptions& common);

/// Writes /nearest_centroids (n, M) with /nearest_distances (n, M), and /all_distances (n, k), by the definition, block
/// by block, after saying how large that is. Rows that --nan drop left out have -1 and NaN. centroids: (k, d)
void write_centroid_distances(data::ResultFile& file, const CentroidDistances& options, const HeldPoints& held,
                              MatrixView<const double> centroids, Invocation& invocation);

}  // namespace kith::app
