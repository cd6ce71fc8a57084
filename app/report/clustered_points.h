// The points of a clustering, read again: where they lie in a plane, and how near to which centroid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/held_points.h"
#include "data/results/stored_result.h"
#include "pictures/pictures.h"

namespace kith::app {

/// What the result file of a clustering says of it.
struct Clustering {
  explicit Clustering(const data::StoredResult& result);  // throws Error(data) where its parts do not fit together
  Matrix<double> centroids;                               // (k, d)
  std::vector<std::int64_t> counts;                       // (k)
  std::vector<std::int32_t> labels;                       // (n), -1 for rows that --nan drop left out
  std::vector<std::string> names;                         // (d) of columns; their numbers from 1 where they have none
};

/// What its points tell besides.
struct ClusteredPoints {
  std::vector<std::int32_t> labels;  // (n) of the rows that are points: not of those that --nan drop left out
  pictures::Plane plane;
  std::vector<double> mean, deviation;  // (d)
  std::vector<float> distances;         // (n) to the own centroid, Euclidean
  std::vector<float> silhouettes;       // (n) simplified ones, as core/silhouette.h has them; empty with one cluster
};

/// Where the points of a result are: the name that was given; or the file that it names, in this folder or beside the
/// result. Nothing where there is no such file.
std::optional<std::string> find_points(const data::StoredResult& result, const std::string& given);

/// Reads them as the command of the result did. Throws Error(data) when rows or columns are not those of the result.
ClusteredPoints read_clustered_points(const std::string& location, const data::StoredResult& result,
                                      const Clustering& clustering, Job& job);

/// How options of the stored command that say what the points are become those of this run: the metric, and all that
/// read_options() takes.
void take_input_options(const data::StoredResult& result, CommonOptions& common);

}  // namespace kith::app
