// Points that stay where they are computed with: a device is opened once, holds points once, and computes with them
// again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kith/cluster.h>
#include <kith/neighbors.h>
#include <kith/points.h>
#include <kith/run.h>

namespace kith {

/// The clusters of DBSCAN.
struct DensityClusters {
  std::vector<std::int32_t> labels;     // (n) -1: noise
  std::vector<std::int64_t> core_rows;  // ascending
};

/// How well labels fit the points. A score that was not asked for, or is not defined, is NaN.
struct LabelScores {
  double silhouette = 0.0;             // the mean of the exact silhouettes
  double simplified_silhouette = 0.0;  // from distances to the means of the clusters
  double calinski_harabasz = 0.0;
  double davies_bouldin = 0.0;
  std::vector<double> silhouettes;  // (n) the exact ones, or the simplified ones if only these were asked for
};

/// As the options of `kith evaluate`.
struct ScoreOptions {
  std::string metric = "euclidean";  // or "cosine", "correlation"
  std::string silhouette = "exact";  // or "simplified", "none"
  RunOptions run = {};
};

/// Points that a device holds. Copies share them. Any thread may use them: calls take turns, and each computes with all
/// threads of the device. `run` of the options of a call has its callbacks; the device is that of the points.
class HeldPoints {
 public:
  std::int64_t rows() const;
  std::int64_t columns() const;
  /// Whether the values are float64; else float32 or bytes.
  bool is_wide() const;
  /// The start that cluster() takes for so many clusters if `init` is empty.
  std::string default_init(std::int64_t clusters) const;

  /// As the functions of these names in kith/cluster.h.
  ClusterResult cluster(std::int64_t clusters, const ClusterOptions& options = {}) const;
  ClusterResult assign(const OwnedMatrix<double>& centroids, const AssignOptions& options = {}) const;
  /// (m, n) The distance of each of the others to each of the points.
  OwnedMatrix<double> distances(const PointData& others, const SearchOptions& options = {}) const;
  /// DBSCAN: points with `min_points` points within the radius, themselves included, are in clusters. Not for
  /// inner products.
  DensityClusters dbscan(double radius, std::int64_t min_points = 5, const SearchOptions& options = {}) const;
  /// Scores of labels (n), each 0 or more. Throws Error(data) unless there are 2 to n - 1 different ones.
  LabelScores evaluate(std::span<const std::int32_t> labels, const ScoreOptions& options = {}) const;

  struct State;  // defined by the library

 private:
  friend class OpenDevice;
  friend class Index;
  std::shared_ptr<State> state_;
};

/// A device with its threads or its memory. Copies share it. In a child that fork() has made it is opened again when it
/// is next used, and holds its points again, since threads end with a fork; a GPU cannot be opened in such a child.
class OpenDevice {
 public:
  /// Takes the points when they are first computed with. Borrowed values must stay as long as the held points.
  HeldPoints hold(PointData points) const;
  /// "cpu" or "cuda".
  const std::string& backend() const;
  /// Whether both are copies of one.
  bool operator==(const OpenDevice&) const = default;

  struct State;  // defined by the library

 private:
  friend OpenDevice open(const RunOptions& options);
  std::shared_ptr<State> state_;
};

/// Opens the backend, device and threads of the options. Throws Error(device) with the reason if it cannot be used.
OpenDevice open(const RunOptions& options = {});

/// Exact neighbours among held points. Copies share the points, and any thread may search.
class Index {
 public:
  /// Throws Error(usage) for an unknown metric.
  explicit Index(HeldPoints points, SearchOptions options = {});

  /// As neighbors() and radius() in kith/neighbors.h: lists of the queries or, without them, of the points.
  NeighborTable search(const PointData& queries, std::int64_t k, const RunOptions& run = {}) const;
  NeighborTable search(std::int64_t k, const RunOptions& run = {}) const;
  RadiusTable within(const PointData& queries, double radius, const RunOptions& run = {}) const;
  RadiusTable within(double radius, const RunOptions& run = {}) const;

  const HeldPoints& points() const { return points_; }
  const SearchOptions& options() const { return options_; }

 private:
  HeldPoints points_;
  SearchOptions options_;
};

}  // namespace kith
