// k-means, and the assignment of points to given centroids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kith/points.h>
#include <kith/run.h>

namespace kith {

struct ClusterResult {
  OwnedMatrix<double> centroids;            // (k, d)
  std::vector<std::int32_t> labels;         // (n)
  std::vector<std::int64_t> counts;         // (k)
  std::vector<std::int64_t> nearest_row;    // (k) the row nearest to each centroid; empty from assign()
  std::vector<double> inertia_per_cluster;  // (k)
  double inertia = 0.0;                     // sum of squared distances
  std::int64_t iterations = 0;
  std::string stopped_by;         // "labels", "tolerance", "max-iterations", "epochs", "splits"; empty from assign()
  std::int64_t changed = 0;       // labels that the last assignment of cluster() changed
  std::vector<double> distances;  // (n) to the own centroid, if asked for
  OwnedMatrix<double> medoids;    // (k, d) the points of nearest_row, if asked for
};

/// As the options of `kith cluster`, with the same defaults.
struct ClusterOptions {
  std::string metric = "euclidean";  // or "cosine", "correlation"
  std::string init = "";             // "k-means++", "k-means||", "random", "first", "farthest"; "": as the command line
  int runs = 1;                      // the one with the smallest inertia wins
  int max_iterations = 300;
  double tolerance = 1e-4;
  std::uint64_t seed = 0;
  RunOptions run = {};
  OwnedMatrix<double> centroids = {};       // (k, d) to start from, in place of `init`
  const ClusterResult* continued = {};      // a result of these points that reached max_iterations, to go on from
  std::span<const double> weights = {};     // (n) of the points, 0 or more; none: 1
  std::int64_t batch = 0;                   // points of a mini-batch; 0: none
  int epochs = 3;                           // passes over all points in batches
  bool finish = true;                       // iterations over all points follow the batches
  std::string algorithm = "lloyd";          // or "bisecting"
  std::string empty_clusters = "relocate";  // or "keep", "drop", "error"
  bool keep_distances = false;              // fills ClusterResult::distances
  bool keep_medoids = false;                // fills ClusterResult::medoids
};

/// k-means with `clusters` clusters. Throws Error(usage) if k is not 1 to n or an option has an unknown value,
/// Error(data) for points that cannot be clustered, and Error(device) if the backend cannot be used.
ClusterResult cluster(const PointData& points, std::int64_t clusters, const ClusterOptions& options = {});

/// As the options of `kith assign`.
struct AssignOptions {
  std::string metric = "euclidean";  // or "cosine", "correlation"
  RunOptions run = {};
  std::span<const double> weights = {};  // (n) of the points, which count for the inertia; none: 1
  bool keep_distances = false;           // fills ClusterResult::distances
};

/// The nearest of the centroids (k, d) for each point; ties go to the lowest. Errors as of cluster().
ClusterResult assign(const PointData& points, const OwnedMatrix<double>& centroids, const AssignOptions& options = {});

}  // namespace kith
