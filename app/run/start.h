// How a run of kith cluster starts: a rule, centroids from a file, labels of the rows, or a result that it continues.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/held_points.h"
#include "app/run/results.h"
#include "core/kmeans/kmeans.h"
#include "data/labels.h"
#include "data/source.h"

namespace kith::app {

/// The state of a run that reached its limit, or was interrupted, from its result.
struct Continuation {
  std::string file;
  StoppedRun stopped;
  bool interrupted = false;  // before it reached its limit
  Iterations iterations;
  /// How it started; nothing if it was the best of several runs.
  struct Start {
    std::string init;  // as stored
    std::uint64_t seed = 0;
    std::string options;  // "--init k-means++ --n-init 1 --seed 0", of the stored command
  };
  std::optional<Start> start;

  /// Sets the limit of the whole run; `given`: that of --max-iterations, or its default. An interrupted run has not
  /// reached the one it had. By default it is that of the run as if it had not stopped, or a multiple of it.
  void set_limit(std::int64_t given, bool is_default);
};

/// Nothing unless `init`, the value of --init, is a result that reached its iteration limit, for these points and a
/// command that differs from `command` only in its start, its limit, and the datasets that it writes besides.
std::optional<Continuation> find_continuation(const std::string& init, const std::string& command,
                                              const data::PointSource& points);

/// A command line that resumes `result`: these words with another start and another output.
std::string continuing_command(const std::vector<std::string>& words, const std::string& result);

/// Names of the rules of --init.
const std::vector<std::string>& start_rules();
bool is_start_rule(const std::string& init);
/// --init of a run without it, for these points and as many clusters: a decision of the report.
std::string default_start(const data::PointSource& points, std::int64_t clusters, Report& report);
/// The name of a rule of --init.
std::string name_of_start(Init init);
inline constexpr const char* kDefaultStart = "k-means++; k-means|| for many rows and clusters";

/// --max-iterations and --tolerance.
void add_limit_options(OptionSet& set, const std::vector<Reason>& no_effect, std::int64_t& max_iterations,
                       double& tolerance);

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
/// errors of the readers. Centroids of a file are those of `points`; null: there are only rules.
Start open_start(const std::string& init, const std::string& init_labels, const CommonOptions& common,
                 const data::PointSource* points = nullptr);

/// Throws Error(usage) unless the labels of the start are those of k clusters of these points.
void check_labels(const Start& start, std::int64_t clusters, const data::PointSource& points);

/// The centroids (k, d) of --init FILE or --freeze FILE, as directions where the metric takes them; none for null.
Matrix<double> centroid_values(data::PointSource* source, Metric metric);
/// The means of the labels of --init-labels, once the points are held.
Matrix<double> label_centroids(const Start& start, const HeldPoints& held, Metric metric);

}  // namespace kith::app
