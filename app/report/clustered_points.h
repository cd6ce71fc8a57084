// The points of a clustering, read again: their projection on a plane, distances and silhouettes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/held_points.h"
#include "app/run/profile.h"
#include "data/results/stored_result.h"
#include "pictures/pictures.h"

namespace kith::app {

/// The contents of the result file of a clustering.
struct Clustering {
  explicit Clustering(const data::StoredResult& result);  // throws Error(data) if its parts are inconsistent
  Matrix<double> centroids;                               // (k, d)
  Matrix<double> means;                                   // (k, d) of the rows, in their space: core/kmeans/result.h
  std::vector<std::int64_t> counts;                       // (k)
  std::vector<std::int32_t> labels;                       // (n), -1 for rows that --nan drop removed
  std::vector<std::string> names;                         // (d) names of the columns, or their numbers from 1
};

/// What is computed from its points.
struct ClusteredPoints {
  std::vector<std::int32_t> labels;  // (n) without the rows that --nan drop removed
  pictures::Plane plane;
  std::vector<float> distances;    // (n) to the own centroid, Euclidean
  std::optional<Profile> profile;  // in the units of the file; nothing if the points cannot be read again
  /// Exact, of all rows or of a sample; nothing with one cluster, and of points for which even a sample takes long.
  std::optional<pictures::Silhouettes> silhouettes;
  std::string doubt;  // why these seem to be other rows than those of the labels; or empty
};

/// The location of the points of a result: `given` if it is not empty, else the file that the result names, in this
/// folder or beside the result. Nothing if no such file exists.
std::optional<std::string> find_points(const data::StoredResult& result, const std::string& given);

/// Reads the points as the command of the result did. Throws Error(data) if rows or columns do not match the result.
ClusteredPoints read_clustered_points(const std::string& location, const data::StoredResult& result,
                                      const Clustering& clustering, const std::vector<std::string>& columns, Job& job);

/// Copies the metric and the options of read_options() from the stored command, except those that `common` already
/// has. Returns the names by which the columns are found, unless `common` chooses others; none if they are ambiguous.
std::vector<std::string> take_input_options(const data::StoredResult& result, CommonOptions& common);

}  // namespace kith::app
