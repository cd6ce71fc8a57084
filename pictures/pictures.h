// The pictures of a clustering, each from plain numbers: what it shows, and a sentence that says it in words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "pictures/svg.h"

namespace kith::pictures {

/// Bars of the clusters' sizes, or a curve of the sorted sizes where there are too many bars. counts: (k)
Picture sizes(const std::vector<std::int64_t>& counts);

/// Where rows and centroids lie in a plane.
struct Plane {
  std::vector<float> x, y;                 // (n) rows
  std::vector<double> centre_x, centre_y;  // (k) centroids
  std::string across, up;                  // what the axes are
  std::string note;                        // how the plane was chosen
};
/// Every row as a mark, or, of many, all rows counted in cells. labels: (n), below 0: drawn grey. counts: (k)
Picture scatter(const Plane& plane, std::span<const std::int32_t> labels, const std::vector<std::int64_t>& counts);

/// How far centroids lie from the mean of all rows, in units of each column.
struct CentroidMap {
  Matrix<double> differences;      // (k, d) in units
  std::vector<std::string> names;  // (d)
  std::string unit;                // "standard deviations of the points"
};
/// A cell for each cluster and column; of many columns those that differ most.
Picture centroid_map(const CentroidMap& map, const std::vector<std::int64_t>& counts);

struct TileShape {
  std::int64_t rows = 0, columns = 0;
};
/// Each centroid (k, d) as a grey picture of rows x columns values, d in all.
Picture tiles(MatrixView<const double> centroids, const TileShape& shape, const std::vector<std::int64_t>& counts);

/// What iterations did. Both (iterations).
struct RunHistory {
  std::vector<double> inertia, shift;
  std::string stopped_by;
  double threshold = 0.0;  // of the shift, 0: none
};
Picture iterations(const RunHistory& course);

/// How far the rows of each cluster lie from their centroid: a histogram each. distances, labels: (n)
Picture distances(std::span<const float> distances, std::span<const std::int32_t> labels,
                  const std::vector<std::int64_t>& counts);

/// Blades of the rows' silhouettes, sorted in each cluster. values, labels: (n). kind: "simplified silhouette"
Picture silhouettes(std::span<const float> values, std::span<const std::int32_t> labels,
                    const std::vector<std::int64_t>& counts, const std::string& kind);

/// A score for each number of clusters.
struct SweepCurve {
  std::string name;            // "inertia"
  std::vector<double> values;  // one for each k, NaN: none
};
/// A small chart for each score. k: ascending
Picture sweep(const std::vector<double>& k, const std::vector<SweepCurve>& curves, std::optional<double> suggested);

// What they have in common.

/// The `most` largest clusters with rows, in ascending order of their numbers; ties: the lower number.
std::vector<std::int64_t> largest_clusters(const std::vector<std::int64_t>& counts, std::size_t most);
/// " The 40 largest of 100 clusters are shown." or nothing.
std::string note_on_clusters(std::size_t shown, const std::vector<std::int64_t>& counts);

}  // namespace kith::pictures
