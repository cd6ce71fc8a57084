// What the points say of labels: the options of inner scores, their computation, and how they are shown and stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/run/job.h"
#include "core/internal_scores.h"
#include "core/silhouette.h"
#include "data/labels.h"
#include "data/results/result.h"

namespace kith::app {

struct InnerOptions {
  std::string points;  // empty: no inner scores
  std::string silhouette = "exact";
  std::int64_t sample = 0;  // rows with an exact silhouette; 0: all
  bool save_silhouette = false;
};

/// --points, --silhouette, --sample, --save-silhouette
void add_inner_options(OptionSet& set, InnerOptions& options);

struct InnerScores {
  std::int64_t rows = 0;              // of the file
  std::vector<std::int64_t> numbers;  // in the file, of the rows that were held
  std::vector<std::int64_t> counts;   // (k) of these
  std::vector<double> weights;        // (k); empty where rows are not weighted
  double calinski_harabasz = 0.0;
  double davies_bouldin = 0.0;
  Silhouette simplified;
  std::optional<Silhouette> exact;
  std::vector<std::int64_t> scored;  // places in `numbers` of the rows of `exact`; empty: all
};

/// The silhouettes that are told of each cluster and row: the exact ones where they were asked for.
const Silhouette& known_silhouette(const InnerScores& scores);

/// The points that were labelled, as they were prepared for a result.
struct LabelledPoints {
  std::unique_ptr<data::PointSource> source;
  std::optional<Preparation> preparation;
};
/// Opens those of the options, which are not empty. Throws Error(data) when they have another number of rows than there
/// are labels.
LabelledPoints open_labelled_points(const InnerOptions& options, const data::Labels& labels, Invocation& invocation);

/// Reads and scores them. labels: codes of rows that weigh nothing are not looked at; weighting: empty where all rows
/// count once. Throws Error(data) unless 2 to n - 1 clusters have rows.
InnerScores inner_scores(const LabelledPoints& points, const data::Labels& labels,
                         const std::optional<Weighting>& weighting, const InnerOptions& options, const OptionSet& set,
                         Invocation& invocation);

/// Rows that are scored when only `sample` of n are: ascending, drawn with a stream of their own.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample, std::int64_t seed);

/// "silhouette" and its value, and so on: the names in reports and files.
std::vector<std::pair<std::string, double>> named_scores(const InnerScores& scores);
/// A line for each score, as they are shown.
std::string show_scores(const InnerScores& scores);
/// A line for each cluster with its rows, their weight where they have some, and silhouettes. names: (k)
std::string show_clusters(const InnerScores& scores, const std::vector<std::string>& names);
/// What the stored command says of the options.
std::string stored_inner(const InnerOptions& options, const CommonOptions& common);
/// Attributes, /counts (and /weights), /silhouette_per_cluster, and with --save-silhouette /silhouette (and
/// /silhouette_rows): of all rows of the file, NaN for those that were left out.
void write_inner(data::ResultFile& file, const InnerScores& scores, const InnerOptions& options);

}  // namespace kith::app
