// k-means, and the assignment of points to given centroids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kith/points.h>
#include <kith/run.h>

namespace kith {

/// As the options of `kith cluster`, with the same defaults.
struct ClusterOptions {
  std::string metric = "euclidean";  // or "cosine"
  std::string init = "";             // "k-means++", "k-means||", "random", "first", "farthest"; "": as the command line
  int runs = 1;                      // the one with the smallest inertia wins
  int max_iterations = 300;
  double tolerance = 1e-4;
  std::uint64_t seed = 0;
  RunOptions run = {};
};

struct ClusterResult {
  OwnedMatrix<double> centroids;            // (k, d)
  std::vector<std::int32_t> labels;         // (n)
  std::vector<std::int64_t> counts;         // (k)
  std::vector<std::int64_t> nearest_row;    // (k) the row nearest to each centroid; empty from assign()
  std::vector<double> inertia_per_cluster;  // (k)
  double inertia = 0.0;                     // sum of squared distances
  std::int64_t iterations = 0;
  std::string stopped_by;  // "labels", "tolerance" or "max-iterations"; empty from assign()
};

/// k-means with `clusters` clusters. Throws Error(usage) if k is not 1 to n or an option has an unknown value,
/// Error(data) for points that cannot be clustered, and Error(device) if the backend cannot be used.
ClusterResult cluster(const PointData& points, std::int64_t clusters, const ClusterOptions& options = {});

/// As the options of `kith assign`.
struct AssignOptions {
  std::string metric = "euclidean";  // or "cosine"
  RunOptions run = {};
};

/// The nearest of the centroids (k, d) for each point; ties go to the lowest. Errors as of cluster().
ClusterResult assign(const PointData& points, const OwnedMatrix<double>& centroids, const AssignOptions& options = {});

}  // namespace kith
