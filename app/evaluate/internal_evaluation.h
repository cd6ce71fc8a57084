// Scores of labels and points: options, computation, printed and stored forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/held_points.h"
#include "app/run/results.h"
#include "core/scores/internal_scores.h"
#include "core/scores/silhouette.h"
#include "data/labels.h"
#include "data/results/result.h"

namespace kith::app {

struct InternalOptions {
  std::string points;  // empty: no internal scores
  std::string silhouette = "auto";
  std::int64_t sample = 0;  // rows with an exact silhouette; 0: all
  bool save_silhouette = false;
};

/// --points, --silhouette, --sample, --save-silhouette
void add_internal_options(OptionSet& set, InternalOptions& options, const CommonOptions& common);
/// Declares --silhouette and --sample alone, at a position of the stored command.
void add_silhouette_options(OptionSet& set, const std::vector<std::string>& kinds, const char* help, int position,
                            std::string& silhouette, std::int64_t& sample);

/// The kind of silhouettes that "auto" stands for: exact with --sample and up to kExactRows rows, else simplified.
inline constexpr std::int64_t kExactRows = 100'000;
std::string silhouette_kind(const InternalOptions& options, std::int64_t rows);

/// Says how long exact silhouettes will take if that is long, for SilhouetteRequest::on_estimate.
void announce_silhouettes(double seconds);

/// Why silhouettes of this kind need all rows in memory; empty if they do not.
std::string silhouette_needs_memory(const std::string& kind);

struct InternalScores {
  std::int64_t rows = 0;              // of the file
  std::vector<std::int64_t> numbers;  // of the held rows, in the file
  std::vector<std::int64_t> counts;   // (k) held rows
  std::vector<double> weights;        // (k); empty if rows are not weighted
  Scores values;
  std::optional<Silhouette> simplified, exact;
  std::vector<std::int64_t> scored;  // places in `numbers` of the rows of `exact`; empty: all
};

/// The silhouettes to report for clusters and rows: the exact ones if they were requested; null: none.
const Silhouette* requested_silhouette(const InternalScores& scores);

/// Warns if the points have other columns than those of the labels' result. Throws Error(data) unless there is a label
/// for each row.
void check_labelled_points(const data::PointSource& points, const data::Labels& labels, Progress& progress);

/// The sizes of scores.
struct ScoreShape {
  std::int64_t rows = 0, columns = 0, clusters = 0;
  std::int64_t sample = 0;   // rows with an exact silhouette; 0: all
  bool is_weighted = false;  // exact silhouettes then have a sum for each weight of a cluster
};
/// Host bytes of the distances of all rows to some centroids.
std::int64_t mean_distance_bytes(const ScoreShape& shape);
/// Bytes that exact silhouettes take.
std::int64_t exact_silhouette_bytes(const ScoreShape& shape);
/// Bytes that all scores take besides the points: also distances, silhouettes and labels of each row.
std::int64_t internal_score_bytes(const std::string& silhouette, const ScoreShape& shape);

/// Computes the scores of held points. The codes of rows that are not held are ignored. Throws Error(data) unless 2 to
/// n - 1 clusters have rows.
InternalScores internal_scores(const HeldPoints& held, const data::Labels& labels, const InternalOptions& options,
                               Job& job);

/// The products of exact silhouettes: of all rows, or of a sample, with all rows.
Work exact_silhouettes(const data::PointSource& points, std::int64_t sample);

/// The rows to score if only `sample` of n are: ascending, drawn with a random stream of their own.
std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample, std::uint64_t seed);

/// The scores that were computed.
std::vector<Score> scores_of(const InternalScores& scores);
/// A line for each of them.
std::string show_scores(const InternalScores& scores);
/// A line for each cluster: its rows, their weight if rows are weighted, and its silhouette. names: (k)
std::string show_clusters(const InternalScores& scores, const std::vector<std::string>& names);
/// Attributes, /counts (and /weights), /silhouette_per_cluster, and with --save-silhouette /silhouette (and
/// /silhouette_rows) for all rows of the file, NaN for dropped rows.
void write_internal(data::ResultFile& file, const InternalScores& scores, const InternalOptions& options);

}  // namespace kith::app
