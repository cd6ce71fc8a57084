// kith dbscan: clusters of points that have many others within a radius, and noise.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/words.h"
#include "app/cluster/label_output.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/memory.h"
#include "app/run/points_run.h"
#include "app/run/preparation.h"
#include "app/run/profile.h"
#include "app/run/radius.h"
#include "app/run/results.h"
#include "core/neighbors/graph.h"
#include "core/neighbors/neighbors.h"

namespace kith::app {
namespace {

constexpr std::int64_t kSampleRows = 10'000;  // at most, whose neighbours suggest a radius

struct DbscanCommand {
  std::string points;
  RadiusChoice radius;
  std::int64_t min_points = 5;
  bool explain = false;
  std::string labels;  // a file; empty: none
  std::string write_obs;
  CommonOptions common;

  bool suggests() const { return !radius.given(); }
  Metric metric() const { return metric_of(common); }
};

void declare(OptionSet& set, DbscanCommand& options) {
  add_points(set, options.points, "the file to cluster");
  add_radius_options(
      set, options.common, options.radius,
      "Points within this distance of each other are neighbours, R included (for cosine: sqrt(2 - 2 "
      "cos); 0.1 is a cosine of 0.995, 0.447 one of 0.9; for correlation 1 - r, for haversine km). Without it, kith "
      "prints how far neighbours are and suggests a radius.");
  set.integer({.names = "--min-points",
               .value = "N",
               .help = "Number of points within the radius, the point itself included, that make a core point.",
               .stored = Stored::always},
              {1, std::numeric_limits<std::int64_t>::max()}, options.min_points);
  set.flag({.names = "--explain",
            .help = "Print for every cluster its mean or commonest text in the columns that set it most apart, in the "
                    "units of the file. A result has them as /profile_means and so on.",
            .stored = {Stored::if_changed, position::kExtra},
            .refused = {when([&options] { return options.suggests() && options.explain; },
                             "--explain needs --radius R; leave it out for a suggestion of a radius, which is "
                             "printed")}},
           options.explain);
  add_label_option(set, options.labels, options.write_obs, options.common);
  set["--labels"].refused = {
      when([&options] { return options.suggests() && !options.labels.empty(); },
           "--labels needs --radius R; leave it out for a suggestion of a radius, which is printed")};
  add_missing_options(set, options.common, true, kFillingHelp);
  add_preparation_options(set, options.common);
  add_prepare_option(set, options.common);
  add_label_common_options(set, options.common);
  add_bits_option(set, options.common);
  set["--memory"].help = "Maximum memory of the run, as in 4GB or 512MiB.";
  set["--metric"].refused = {when([&options] { return options.metric() == Metric::inner_product; },
                                  "--metric inner-product: expected a distance, so that a point is near itself: "
                                  "euclidean, cosine, correlation, manhattan, chebyshev, haversine, hamming or "
                                  "jaccard"),
                             when([&options] { return transforms_places(options.common); }, kTransformedPlaces)};
  set["--output"].refused.push_back(
      when([&options] { return options.suggests() && !options.common.output.empty(); },
           "--output needs --radius R; leave it out for a suggestion of a radius, which is printed"));
  set["--seed"].no_effect = {[]() -> std::string { return "dbscan uses no random numbers"; }};
}

void check_min_points(const DbscanCommand& options, std::int64_t rows, const PointsRun& run) {
  if (options.min_points <= rows) return;
  throw Error(ExitCode::usage, fmt::format("--min-points {}: expected at most the {} rows of {}", options.min_points,
                                           rows, run.source->name()));
}

void open_inputs(DbscanCommand& options, PointsRun& run) {
  choose_preparation(options.points, run.set, options.common);
  take_metric_of_radius(options.radius, {options.points}, run.set, options.common);
  if (!options.suggests()) {
    options.radius.limit(options.metric());
    run.report.radius = report_of(options.radius, options.metric());
  }
  open_points(run, options.points);
  check_label_output(run, options.write_obs);
  if (options.suggests()) check_min_points(options, run.source->rows(), run);
  if (!options.explain) return;
  if (const std::string reason = why_no_profile(*run.source, run.common); !reason.empty()) {
    throw Error(ExitCode::usage, "--explain: " + reason);
  }
}

Needs needs_of(const DbscanCommand& options, const PointsRun& run) {
  constexpr std::int64_t kRowBytes = 48;     // label, component, number of neighbours, border
  constexpr std::int64_t kListedBytes = 40;  // of a neighbour in a block
  constexpr std::int64_t kUsualClusters = 100;
  const data::PointSource& points = *run.source;
  return {.stored_command = run.set.stored_command(stored_words("POINTS", points, points.value_class(), run.common)),
          .writes_result = !run.target.empty(),
          .bytes = row_state_bytes(points) + checked_product(points.rows(), kRowBytes, "labels") +
                   RadiusOptions().capacity * kListedBytes +
                   (options.explain ? profile_bytes(points, kUsualClusters) : 0),
          .all_rows = "this command needs all rows in memory",
          .work = {preparing(),
                   {.phase = "search",
                    .operation = Operation::join,
                    .size = points.rows(),
                    .at_most = points.columns() <= kTreeColumns && !compares_bits(options.common)}},
          .is_all_work = false,
          .result_bytes = label_bytes(points, false)};
}

/// Distances of the points to their neighbours, for people, and the radius that they suggest.
struct RadiusSuggestion {
  std::string text;
  double radius = 0.0;
};

/// Suggests a radius from a sample of the points.
RadiusSuggestion suggest(const DbscanCommand& options, PointsRun& run) {
  check_min_points(options, run.held.plan.rows, run);
  const PointsView values = run.held.values->values();
  const std::int64_t rows = rows_of(values), stride = (rows - 1) / kSampleRows + 1, count = (rows - 1) / stride + 1;
  Matrix<double> sample(count, columns_of(values)), distances(1, count);
  for (std::int64_t i = 0; i < count; ++i) copy_queries(values, i * stride, sample.view().middle(i, 1));
  nearest_neighbors(
      *run.held.points, PointsView(std::as_const(sample).view()),
      {.neighbors = options.min_points, .measure = measure_of(options.metric())},
      [&](std::int64_t first, const NeighborLists& lists) {
        for (std::int64_t i = 0; i < lists.distance.rows(); ++i) {
          distances(0, first + i) = lists.distance(i, options.min_points - 1);
        }
      },
      run.progress);
  const Matrix<double> shown =
      convert_distances<double>(std::as_const(distances).view(), unit_of(options.metric(), false), 0);
  std::vector<double> ascending(shown.data(), shown.data() + count);
  std::sort(ascending.begin(), ascending.end());
  RadiusSuggestion suggestion{
      fmt::format("distance to the {} nearest points, the point itself included\n", options.min_points),
      knee_of(ascending)};
  for (const int percent : {1, 10, 25, 50, 75, 90, 95, 99}) {
    suggestion.text += fmt::format("{:>3} % of the points  {:.6g}\n", percent,
                                   ascending[static_cast<std::size_t>((count - 1) * percent / 100)]);
  }
  const std::string cosine = options.metric() == Metric::cosine
                                 ? fmt::format(", a cosine of {:.6g}", cosine_of_radius(suggestion.radius))
                                 : "";
  suggestion.text += fmt::format("suggested --radius   {:.6g}{}\n", suggestion.radius, cosine);
  return suggestion;
}

DbscanResult cluster(const DbscanCommand& options, PointsRun& run) {
  DbscanResult result = dbscan(*run.held.points, run.held.values->values(),
                               {.limit = options.radius.limit(options.metric()),
                                .measure = measure_of(options.metric()),
                                .min_points = options.min_points,
                                .block_queries = run.common.block_rows},
                               run.progress);
  run.report.density = DensityReport{std::ssize(result.counts), result.core,
                                     std::ssize(result.labels) - result.core - result.noise, result.noise};
  return result;
}

/// A line for each cluster.
std::string cluster_sizes(const DbscanResult& result) {
  std::string out = "cluster  points\n";
  for (std::size_t c = 0; c < result.counts.size(); ++c) out += fmt::format("{:>7}  {:>6}\n", c, result.counts[c]);
  return out + fmt::format("  noise  {:>6}\n", result.noise);
}

/// What the clusters are, in the units of the file.
void explain(const KMeansResult& rows, const DbscanCommand& options, PointsRun& run) {
  if (!options.explain || rows.counts.empty()) return;
  run.progress.phase("explain", 0);
  run.report.explains = true;
  run.report.profile = make_profile(
      {.source = *run.source, .common = run.common, .labels = rows.labels, .clusters = std::ssize(rows.counts)});
  run.report.profile->counts = rows.counts;
  run.print(profile_text(*run.report.profile, text_width(Stream::output)));
}

/// rows: their labels and counts, with those of dropped rows.
void write(const DbscanResult& result, const KMeansResult& rows, const DbscanCommand& options, const PointsRun& run) {
  if (is_label_output(run.common, options.write_obs)) {
    return write_label_output(run.common, options.write_obs, *run.source, rows, run.output);
  }
  data::ResultFile file(run.target, run.output);
  write_head(file, {"kith-dbscan", run.needs.stored_command, run.source->value_class(), options.metric()}, *run.source);
  file.attribute("radius", options.radius.value());
  file.attribute("min_points", options.min_points);
  file.attribute("noise", result.noise);
  write_dropped_rows(file, run.common, *run.held.values);
  write_preparation(file, run.held.preparation);
  file.dataset("labels", std::span<const std::int32_t>(rows.labels));
  file.dataset("counts", std::span<const std::int64_t>(rows.counts));
  std::vector<std::int64_t> core;
  const std::span<const std::int64_t> kept = run.held.values->kept_rows();
  for (std::size_t row = 0; row < result.is_core.size(); ++row) {
    if (result.is_core[row] != 0) core.push_back(kept.empty() ? static_cast<std::int64_t>(row) : kept[row]);
  }
  file.dataset("core_rows", std::span<const std::int64_t>(core));
  if (run.report.profile) write_profile(file, *run.report.profile);
  file.finish();
}

}  // namespace

int run_dbscan(const Arguments& arguments) {
  DbscanCommand options;
  OptionSet set({.command = "dbscan",
                 .summary = "clusters of points that have many others within a radius, of any shape, and noise.",
                 .usage = "POINTS --radius R [options]",
                 .examples = {"kith dbscan points.h5:/train                       # suggests a radius",
                              "kith dbscan points.h5:/train --radius 0.3 -o clusters.h5",
                              "kith dbscan places.csv --metric haversine --radius 0.5 --min-points 10 -o labels.csv"},
                 .first = {"--radius", "--min-points", "--columns", "--scale", "-o"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, label_endings(options.common, options.write_obs));
  check_outputs(run, {label_side_output(options.labels)});
  open_inputs(options, run);
  Needs needs = needs_of(options, run);
  if (finished_labels(run, needs.stored_command).are_all) return 0;
  if (!begin(run, std::move(needs))) return 0;
  begin_label_folders(run);
  hold_points(run);
  advise(run);
  if (options.suggests()) {
    const RadiusSuggestion suggestion = suggest(options, run);
    end_computation(run);
    run.print(suggestion.text);
    return finish(run, set.shown_command("dbscan", {{"--radius", fmt::format("--radius {:.4g}", suggestion.radius)}}));
  }
  DbscanResult result = cluster(options, run);
  end_computation(run);
  if (run.target.empty()) run.print(cluster_sizes(result));
  begin_write(run);
  KMeansResult rows;
  rows.labels = std::move(result.labels);
  rows.counts = result.counts;
  restore_rows(rows, *run.held.values);
  explain(rows, options, run);
  write_with_labels(run, rows, [&] { write(result, rows, options, run); });
  const bool may_explain = !options.explain && !rows.counts.empty() && why_no_profile(*run.source, run.common).empty();
  return finish(run, may_explain ? set.shown_command("dbscan", {}) + " --explain" : "");
}

}  // namespace kith::app
