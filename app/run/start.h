// How a run of kith cluster starts: a rule, centroids from a file, or labels of the rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/continuation.h"
#include "app/run/held_points.h"
#include "core/kmeans/kmeans.h"
#include "data/labels.h"

namespace kith::app {

/// Names of the rules of --init.
const std::vector<std::string>& start_rules();
bool is_start_rule(const std::string& init);
/// --init of a run without it, for these points: a decision of the report.
std::string default_start(const data::PointSource& points, Report& report);
inline constexpr const char* kDefaultStart = "k-means++; k-means|| from 2^33 values on";

/// Rejects --tolerance below 0.
Reason negative_tolerance(const double& tolerance);

struct Start {
  Init init = Init::given;
  std::string stored = {};                   // as in the result file
  std::unique_ptr<data::PointSource> given;  // the centroids of --init FILE
  std::optional<data::Labels> labels = {};   // of --init-labels
  std::optional<Continuation> continuation = {};

  bool is_random() const { return init != Init::first && init != Init::given; }
  /// "--init k-means++", "--init-labels a.csv:group", as in the stored command.
  std::string option() const { return (labels ? "--init-labels " : "--init ") + stored; }
  /// The number of clusters that it has; 0: any.
  std::int64_t clusters() const;
};

/// The start of --init, or of --init-labels unless that is empty. Throws Error(usage) for an unknown rule, and the
/// errors of the readers.
Start open_start(const std::string& init, const std::string& init_labels, const CommonOptions& common);

/// Throws Error(usage) unless the labels of the start are those of k clusters of these points.
void check_labels(const Start& start, std::int64_t clusters, const data::PointSource& points);

/// The centroids (k, d) of --init FILE; none for another start.
Matrix<double> given_centroids(const Start& start, Metric metric);
/// The means of the labels of --init-labels, once the points are held.
Matrix<double> label_centroids(const Start& start, const HeldPoints& held, Metric metric);

}  // namespace kith::app
