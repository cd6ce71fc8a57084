// Computes scores of labels and points, and prints and stores them.
#include "app/evaluate/internal_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/model.h"
#include "app/run/preparation.h"
#include "app/run/profile.h"
#include "core/kmeans/seeding.h"
#include "data/results/stored_result.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr std::uint64_t kSampleStream = std::uint64_t{1} << 62;  // beside those of the runs of k-means

/// Points with other columns than those that were clustered are probably a mistake.
void warn_of_columns(const std::string& labels, const data::PointSource& points, Progress& progress) {
  if (!names_labels(labels)) return;
  const data::StoredResult result(data::parse_location(labels).file);
  const std::vector<std::int64_t> shape = result.wholes("points_shape");
  const std::vector<std::string> before = result.lines("columns"), now = points.column_names();
  std::string difference;
  if (shape.size() == 2 && shape[1] != points.columns()) {
    difference = fmt::format("expected {} columns, found {}", shape[1], points.columns());
  } else if (before.size() == now.size() && before != now) {
    const auto [was, is] = std::mismatch(before.begin(), before.end(), now.begin());
    difference =
        fmt::format("expected '{}' as column {} (counted from 1), found '{}'", *was, was - before.begin() + 1, *is);
  }
  if (difference.empty() && lists_other_columns(result, now))
    difference = "expected the names of the columns that were clustered, found others or another order";
  if (difference.empty()) return;
  progress.warning(fmt::format("--points {}: {}; choose the columns that {} was computed from with --columns",
                               points.name(), difference, result.file()));
}

/// Distances from all rows to the means, in one pass over rows that are read from a file.
CentroidDistances distances_to_means(const HeldPoints& held, MatrixView<const double> means,
                                     const SilhouetteRequest& request) {
  if (!held.reader) return centroid_distances(*held.points, means, request);
  CentroidDistances all;
  const auto add = [&](const PointsView& rows) {
    const std::size_t first = all.own.size();
    const auto points = held.backend->hold({rows, 0});
    points->prepare(held.plan);
    SilhouetteRequest part = request;
    part.labels = request.labels.subspan(first, static_cast<std::size_t>(rows_of(rows)));
    const CentroidDistances some = centroid_distances(*points, means, part);
    all.own.insert(all.own.end(), some.own.begin(), some.own.end());
    all.nearest.insert(all.nearest.end(), some.nearest.begin(), some.nearest.end());
  };
  add(held.rows());
  held.reader->begin(rows_of(held.rows()));
  for (PointsView block = held.reader->next(); rows_of(block) > 0; block = held.reader->next()) add(block);
  return all;
}

}  // namespace

std::int64_t mean_distance_bytes(const ScoreShape& shape) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 24;  // core/scores/silhouette.cpp
  const std::int64_t some = kBlockValues / std::max<std::int64_t>(shape.rows, 1) + 1;
  return 8 * checked_product(shape.rows, std::min(shape.clusters, some), "distances");
}

std::int64_t exact_silhouette_bytes(const ScoreShape& shape) {
  constexpr std::int64_t kBlockValues = std::int64_t{1} << 23, kMinRows = 16384,
                         kSteps = 20;                                      // core/scores/silhouette.cpp
  constexpr std::int64_t kOfWeights = std::int64_t{1} << 28;               // whose number is unknown
  constexpr std::int64_t kPerColumn = 12, kPerCluster = 25, kPerRow = 20;  // packed and as float64; sums and bounds
  const std::int64_t scored = shape.sample > 0 ? std::min(shape.sample, shape.rows) : shape.rows;
  const std::int64_t fitting = std::max<std::int64_t>(kBlockValues / std::max(shape.columns, shape.clusters), 1);
  const std::int64_t block = std::min({fitting, std::max(kMinRows, scored / kSteps), scored});
  constexpr std::int64_t kPacked = 160;  // of a column, for each thread: queries and rows of long rows
  const std::int64_t packed = thread_bytes(shape.rows, kPacked * shape.columns);
  const std::int64_t sums = packed + block * (kPerColumn * shape.columns + kPerCluster * shape.clusters);
  return (shape.is_weighted ? kOfWeights : sums) + scored * kPerRow +
         checked_product(scored, shape.clusters / 8 + 1, "silhouettes") + mean_distance_bytes(shape);
}

std::int64_t internal_score_bytes(const std::string& silhouette, const ScoreShape& shape) {
  constexpr std::int64_t kBytesPerRow = 48, kBytesPerValue = 40;
  const std::int64_t distances = silhouette == "exact"  ? exact_silhouette_bytes(shape)
                                 : silhouette == "none" ? 0
                                                        : mean_distance_bytes(shape);
  return checked_product(shape.rows, kBytesPerRow, "rows") + distances +
         checked_product(checked_product(shape.clusters, shape.columns, "centroids"), kBytesPerValue, "centroids");
}

std::string silhouette_needs_memory(const std::string& kind) {
  return kind != "exact" ? "" : "exact silhouettes compare rows in all orders; give --silhouette simplified";
}

std::string silhouette_kind(const InternalOptions& options, std::int64_t rows) {
  if (options.silhouette != "auto") return options.silhouette;
  if (options.sample > 0 || rows <= kExactRows) return "exact";
  Terminal::instance().say(
      fmt::format("--silhouette simplified, as for all sets of more than {} rows; --silhouette "
                  "exact compares all {} with each other, --sample N some of them with all",
                  kExactRows, rows));
  return "simplified";
}

void announce_silhouettes(double seconds) {
  constexpr double kLong = 10.0;
  if (seconds < kLong) return;
  Terminal::instance().say(
      fmt::format("exact silhouettes will take about {}; --sample N takes N rows in place of all, "
                  "--silhouette simplified only distances to centroids",
                  show_seconds(seconds)));
}

const Silhouette* requested_silhouette(const InternalScores& scores) {
  if (scores.exact) return &*scores.exact;
  return scores.simplified ? &*scores.simplified : nullptr;
}

void add_silhouette_options(OptionSet& set, const std::vector<std::string>& kinds, const char* help, int position,
                            std::string& silhouette, std::int64_t& sample) {
  set.choice({.names = "--silhouette", .value = "HOW", .help = help, .stored = {Stored::if_used, position}}, kinds,
             silhouette);
  set.integer({.names = "--sample",
               .value = "N",
               .help = "Exact silhouettes of N rows drawn at random, each against all rows.",
               .shown_default = "all rows",
               .stored = {Stored::if_changed_and_used, position},
               .no_effect = {[&silhouette]() -> std::string {
                 return silhouette == "exact" || silhouette == "auto" ? "" : "--silhouette is " + silhouette;
               }}},
              {1, std::numeric_limits<std::int64_t>::max()}, sample);
}

void add_internal_options(OptionSet& set, InternalOptions& options, const CommonOptions& common) {
  set.text({.names = "--points",
            .value = "POINTS",
            .help = "The labelled points, FILE[:DATASET] or a set of files (a folder, a pattern or @LIST), for scores "
                    "of how well the labels fit them.",
            .input = Input::table,
            .stored = Stored::if_changed},
           options.points);
  add_silhouette_options(
      set, {"auto", "exact", "simplified", "none"},
      "exact: from all pairs of rows (also reports simplified); simplified: from distances to centroids; none; auto: "
      "exact up to 100000 rows or with --sample, else simplified.",
      position::kTask, options.silhouette, options.sample);
  set.flag({.names = "--save-silhouette",
            .help = "Also write the silhouette of every row.",
            .section = Section::output,
            .stored = {Stored::if_used, position::kPrecision + 2},
            .no_effect = {when([&common] { return common.output.empty(); }, "there is no --output"),
                          when([&options] { return options.silhouette == "none"; }, "--silhouette is none")}},
           options.save_silhouette);
}

std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample, std::uint64_t seed) {
  if (sample == 0 || sample >= rows) return {};
  std::vector<std::int64_t> drawn = random_rows(rows, sample, {seed, kSampleStream});
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

void check_labelled_points(const data::PointSource& points, const data::Labels& labels, Progress& progress) {
  warn_of_columns(labels.name, points, progress);
  if (points.rows() == std::ssize(labels.codes)) return;
  throw Error(
      ExitCode::data,
      fmt::format("--points {}: expected {} rows, one for each label of {}, found {}; give the labelled points, "
                  "with the same options of columns and header",
                  points.name(), labels.codes.size(), labels.name, points.rows()));
}

Work exact_silhouettes(const data::PointSource& points, std::int64_t sample) {
  const std::int64_t scored = sample > 0 ? std::min(sample, points.rows()) : points.rows();
  return {.phase = "silhouette", .operation = Operation::measure, .size = scored};
}

InternalScores internal_scores(const HeldPoints& held, const data::Labels& labels, const InternalOptions& options,
                               Job& job) {
  const std::int64_t clusters = std::ssize(labels.values);
  InternalScores scores;
  scores.rows = held.values->source().rows();
  scores.numbers = held.row_numbers();
  std::vector<std::int32_t> codes;
  for (const std::int64_t row : scores.numbers) codes.push_back(labels.codes[static_cast<std::size_t>(row)]);

  job.progress.phase("score", 0);
  const LabelledClusters labelled = labelled_clusters(*held.points, held.plan, codes, clusters);
  if (!labelled.comparable()) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: scores of labels and points need 2 to n - 1 clusters with rows, found {} rows in {}; give "
                    "labels of several clusters, or known classes with --truth",
                    labels.name, labelled.rows, labelled.non_empty()));
  }
  if (names_labels(labels.name) && !job.common.weighted()) {
    const data::StoredResult result(data::parse_location(labels.name).file);
    const std::vector<std::int64_t> shape = result.wholes("points_shape");
    const data::PointSource& points = held.values->source();
    const bool is_same_space = shape.size() == 2 && shape[1] == points.columns();
    const std::string doubt = is_same_space ? doubt_of_rows(result, labelled.total_inertia, points.name()) : "";
    if (!doubt.empty()) job.progress.warning(doubt);
  }
  scores.counts = labelled.counts;
  if (held.plan.weights.given()) scores.weights = labelled.weights;
  scores.values.calinski_harabasz = calinski_harabasz(labelled);
  scores.values.davies_bouldin = davies_bouldin(labelled);
  if (options.silhouette == "none") return scores;
  SilhouetteRequest request{
      codes, scores.counts, {}, held.plan.weights, labelled.on_mean, labelled.means.view(), announce_silhouettes};
  scores.simplified = simplified_silhouette(distances_to_means(held, labelled.means.view(), request), request);
  scores.values.simplified_silhouette = scores.simplified->mean;
  if (options.silhouette == "exact") {
    scores.scored = sampled_rows(std::ssize(codes), options.sample, job.common.seed);
    request.scored = scores.scored;
    scores.exact = exact_silhouette(*held.points, held.plan, request, job.progress);
    scores.values.silhouette = scores.exact->mean;
  }
  return scores;
}

std::vector<Score> scores_of(const InternalScores& scores) {
  std::vector<Score> computed = scores_for(ScoreUse::points);
  std::erase_if(computed, [&](const Score& score) {
    return (score.value == &Scores::silhouette && !scores.exact) ||
           (score.value == &Scores::simplified_silhouette && !scores.simplified);
  });
  return computed;
}

std::string show_scores(const InternalScores& scores) {
  std::string out;
  for (const Score& score : scores_of(scores)) {
    const bool sampled = score.value == &Scores::silhouette && !scores.scored.empty();
    out += fmt::format("{:<30} {}{}\n", score.shown, shown_number(scores.values.*score.value),
                       sampled ? fmt::format(" ({} of {} rows)", scores.scored.size(), scores.numbers.size()) : "");
  }
  return out;
}

std::string show_clusters(const InternalScores& scores, const std::vector<std::string>& names) {
  TextTable table{{Align::right, Align::right}, {{"cluster", "rows"}}};
  for (std::size_t c = 0; c < names.size(); ++c)
    table.rows.push_back({visible(names[c]), std::to_string(scores.counts[c])});
  const auto add = [&table](const char* head, const std::vector<double>& values) {
    table.columns.push_back(Align::right);
    table.rows[0].emplace_back(head);
    for (std::size_t c = 0; c + 1 < table.rows.size(); ++c) table.rows[c + 1].push_back(shown_number(values[c]));
  };
  if (!scores.weights.empty()) add("weight", scores.weights);
  if (const Silhouette* silhouette = requested_silhouette(scores)) add("silhouette", silhouette->clusters);
  return lay_out(table, text_width(Stream::output));
}

void write_internal(data::ResultFile& file, const InternalScores& scores, const InternalOptions& options) {
  file.attribute("points", stored_name(options.points));
  for (const Score& score : scores_of(scores)) file.attribute(score.name, scores.values.*score.value);
  file.dataset("counts", std::span<const std::int64_t>(scores.counts));
  if (!scores.weights.empty()) file.dataset("weights", std::span<const double>(scores.weights));
  const Silhouette* silhouette = requested_silhouette(scores);
  if (silhouette == nullptr) return;
  file.dataset("silhouette_per_cluster", std::span<const double>(silhouette->clusters));
  if (!options.save_silhouette) return;
  if (scores.scored.empty()) {
    std::vector<double> rows(static_cast<std::size_t>(scores.rows), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < silhouette->rows.size(); ++i) rows[scores.numbers[i]] = silhouette->rows[i];
    file.dataset("silhouette", std::span<const double>(rows));
    return;
  }
  std::vector<std::int64_t> scored;
  for (const std::int64_t place : scores.scored) scored.push_back(scores.numbers[place]);
  file.dataset("silhouette", std::span<const double>(silhouette->rows));
  file.dataset("silhouette_rows", std::span<const std::int64_t>(scored));
}

}  // namespace kith::app
