// How a run of kith cluster starts: a rule, centroids from a file, or labels of the rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster/continuation.h"
#include "app/run/job.h"
#include "core/kmeans.h"
#include "data/labels.h"

namespace kith::app {

/// The names of the rules, as --init has them.
const std::vector<std::string>& start_rules();
bool is_start_rule(const std::string& init);

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

/// What --init and --init-labels say; the latter is empty unless given. Throws Error(usage) for a rule that there is
/// not, and what the readers throw.
Start open_start(const std::string& init, const std::string& init_labels, const CommonOptions& common);

/// Throws Error(usage) unless the labels of the start are those of k clusters of these points.
void check_labels(const Start& start, std::int64_t clusters, const data::PointSource& points);

/// The centroids (k, d) of --init FILE; none for another start.
Matrix<double> given_centroids(const Start& start, Metric metric);
/// Those of --init-labels, once the points are held.
Matrix<double> label_centroids(const Start& start, const HeldPoints& held, Metric metric);

}  // namespace kith::app
