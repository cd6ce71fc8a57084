// What the points say of labels: the options of inner scores, their computation, and how they are shown and stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/invocation.h"
#include "core/inner_scores.h"
#include "core/silhouette.h"
#include "data/result.h"

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
  std::int64_t rows = 0;
  std::vector<std::int64_t> counts;  // (k)
  double calinski_harabasz = 0.0;
  double davies_bouldin = 0.0;
  Silhouette simplified;
  std::optional<Silhouette> exact;
  std::vector<std::int64_t> scored;  // rows of `exact`; empty: all
};

/// The silhouettes that are told of each cluster and row: the exact ones where they were asked for.
const Silhouette& known_silhouette(const InnerScores& scores);

/// Of labels (n) from 0 to clusters - 1, held by the points from then on. Throws Error(data) unless 2 to n - 1 clusters
/// have rows; `name` is that of the labels.
InnerScores inner_scores(HeldPoints& held, std::span<const std::int32_t> labels, std::int64_t clusters,
                         const InnerOptions& options, const std::string& name, Invocation& invocation);

/// Opens, reads and scores the points of the options. Throws Error(data) when they have another number of rows than
/// there are labels.
InnerScores inner_scores_of_file(std::span<const std::int32_t> labels, std::int64_t clusters,
                                 const InnerOptions& options, const std::string& name, const OptionSet& set,
                                 Invocation& invocation);

/// Rows that are scored when only `sample` of n are: ascending, drawn with a stream of their own.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample, std::int64_t seed);

/// "silhouette" and its value, and so on: the names in reports and files.
std::vector<std::pair<std::string, double>> named_scores(const InnerScores& scores);
/// A line for each score, as they are shown.
std::string show_scores(const InnerScores& scores);
/// A line for each cluster with its rows and silhouettes. names: (k)
std::string show_clusters(const InnerScores& scores, const std::vector<std::string>& names);
/// What the stored command says of the options.
std::string stored_inner(const InnerOptions& options, const CommonOptions& common);
/// Attributes, /counts, /silhouette_per_cluster, and with --save-silhouette /silhouette (and /silhouette_rows).
void write_inner(data::ResultFile& file, const InnerScores& scores, const InnerOptions& options);

}  // namespace kith::app
