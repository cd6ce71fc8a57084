// kith sweep: k-means for many numbers of clusters, with scores that help to choose one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/cluster/start.h"
#include "app/commands.h"
#include "app/evaluate/cluster_counts.h"
#include "app/evaluate/inner_evaluation.h"
#include "app/evaluate/sweep_result.h"
#include "app/run/dropped_rows.h"
#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/preparation.h"
#include "app/run/results.h"
#include "app/run/weighting.h"
#include "core/internal_scores.h"
#include "core/metric.h"
#include "core/silhouette.h"
#include "data/io/file_kind.h"
#include "data/results/text_file.h"

namespace kith::app {
namespace {

struct SweepOptions {
  std::string points;
  std::string clusters;
  std::string init = "k-means++";
  std::int64_t runs = 1;
  std::int64_t max_iterations = 300;
  double tolerance = 1e-4;
  std::string silhouette = "simplified";
  std::int64_t sample = 0;
  std::int64_t references = 0;
  bool warm = false;
  CommonOptions common;
};

constexpr std::int64_t kLargestInt = std::numeric_limits<std::int32_t>::max();

void declare(OptionSet& set, SweepOptions& options) {
  set.positional({.names = "POINTS", .help = "FILE:DATASET of n rows; FILE alone if it holds one matrix."},
                 options.points);
  set.text({.names = "-k,--clusters",
            .value = "LIST",
            .help = "Numbers of clusters: 2-10, 2,4,8, 10-100:10 (steps of 10), 2-64:log (each twice the one before)."},
           options.clusters);
  set.choice({.names = "--init", .value = "HOW", .help = "How the first centroids are found, as for cluster."},
             start_rules(), options.init);
  set.integer({.names = "--n-init",
               .value = "N",
               .help = "Runs from different starts for each number; the lowest inertia is kept."},
              {1, 1'000'000}, options.runs);
  set.integer({.names = "--max-iterations", .value = "N", .help = "Most iterations of a run."}, {1, kLargestInt},
              options.max_iterations);
  set.number({.names = "--tolerance",
              .value = "T",
              .help = "Stop when the squared shifts of the centroids sum to at most T x mean column variance."},
             options.tolerance);
  set.choice({.names = "--silhouette",
              .value = "HOW",
              .help = "simplified: by distances to centroids; exact: of all pairs of rows, n x n distances for each "
                      "number of clusters."},
             {"simplified", "exact"}, options.silhouette);
  set.integer({.names = "--sample",
               .value = "N",
               .help = "Exact silhouettes of N rows drawn at random, each against all rows.",
               .shown_default = "all rows"},
              {1, std::numeric_limits<std::int64_t>::max()}, options.sample);
  set.integer({.names = "--gap",
               .value = "B",
               .help = "Gap statistic with B reference sets, each clustered like the points.",
               .shown_default = "none"},
              {1, 10'000}, options.references);
  set.flag({.names = "--warm",
            .help = "Every number but the first starts from the centroids of the one before, beside which --init draws "
                    "the others: fewer iterations, but not the runs of kith cluster."},
           options.warm);
  add_weight_options(set, options.common);
  add_missing_option(set, options.common);
  add_preparation_options(set, options.common);
  add_common_options(set, options.common,
                     "Write the result to this HDF5 file, or the table alone to .csv; it appears only when it is "
                     "complete.");
}

Start start_of(const SweepOptions& options) { return open_start(options.init, "", options.common); }

/// known: the centroids of the number before, with --warm
KMeansOptions run_options(const SweepOptions& options, std::int64_t clusters, MatrixView<const double> known) {
  const Start start = start_of(options);
  return {.clusters = clusters,
          .init = start.init,
          .known = options.warm ? known : MatrixView<const double>{},
          .runs = start.is_random() ? static_cast<int>(options.runs) : 1,
          .max_iterations = static_cast<int>(options.max_iterations),
          .tolerance = options.tolerance,
          .seed = static_cast<std::uint64_t>(options.common.seed),
          .metric = metric_of(options.common)};
}

void warn_of_options(const OptionSet& set, const SweepOptions& options, Invocation& invocation) {
  if (!start_of(options).is_random()) {
    const std::string why = fmt::format("--init {} draws nothing at random", options.init);
    invocation.warn_without_effect(set, "--n-init", why);
    const bool draws = options.sample > 0 || options.references > 0;
    if (!draws) invocation.warn_without_effect(set, "--seed", why);
  }
  if (options.silhouette != "exact") invocation.warn_without_effect(set, "--sample", "--silhouette is simplified");
  invocation.warn_of_text_options(set, {options.points});
  invocation.warn_without_effect(set);
}

/// Everything that can be known to be wrong before the points are read. counts: numbers of clusters
void check(const SweepOptions& options, const std::vector<std::int64_t>& counts, const data::PointSource& points) {
  if (counts.back() > points.rows()) {
    throw Error(ExitCode::usage, fmt::format("-k {}: {} has only {} rows; expected at most {} clusters",
                                             options.clusters, points.name(), points.rows(), points.rows()));
  }
  if (!(options.tolerance >= 0.0)) {
    throw Error(ExitCode::usage, fmt::format("--tolerance: expected 0 or more, found {}", options.tolerance));
  }
  if (options.warm && !start_of(options).is_random()) {
    throw Error(ExitCode::usage,
                fmt::format("--warm: expected an --init that draws beside the centroids that are there, "
                            "found {}; leave one of them out",
                            options.init));
  }
}

/// Host bytes: the points, those of a reference set, labels and centroids of every number of clusters, distances.
std::int64_t sweep_bytes(const SweepOptions& options, const std::vector<std::int64_t>& counts,
                         const data::PointSource& points) {
  constexpr std::int64_t kLabel = 4, kPerRow = 64, kBlocks = std::int64_t{1} << 28;
  const std::int64_t n = points.rows(), numbers = std::ssize(counts);
  std::int64_t bytes = points_bytes(points) + kBlocks + checked_product(n, kPerRow, "rows");
  bytes += checked_product(checked_product(numbers, n, "labels"), kLabel, "labels");
  bytes += checked_product(numbers, assignment_bytes(points, counts.back()) - assignment_bytes(points, 0), "centroids");
  if (options.references > 0) {
    bytes += checked_product(checked_product(n, points.columns(), "reference set"), sizeof(double), "reference set");
  }
  return bytes;
}

/// One number of clusters: the run that `kith cluster` would make unless it is a warm one, and its scores.
SweepRow row_of(HeldPoints& held, const SweepOptions& options, std::int64_t clusters, MatrixView<const double> known,
                Invocation& invocation) {
  SweepRow row;
  row.clusters = clusters;
  row.result = kmeans(*held.points, held.plan, run_options(options, clusters, known), invocation.progress);
  invocation.progress.phase("score", 0);
  const LabelledClusters found = labelled_clusters(*held.points, held.plan, row.result.labels, clusters);
  row.calinski_harabasz = calinski_harabasz(found);
  row.davies_bouldin = davies_bouldin(found);
  row.bic = bayesian_information(found);
  row.silhouette = std::numeric_limits<double>::quiet_NaN();
  if (!found.comparable()) return row;
  SilhouetteRequest request{row.result.labels, found.counts, {}, held.plan.weights, found.on_mean};
  if (options.silhouette == "simplified") {
    row.silhouette = simplified_silhouette(*held.points, found.means.view(), request).mean;
    return row;
  }
  const std::vector<std::int64_t> scored = sampled_rows(held.points->rows(), options.sample, options.common.seed);
  request.scored = scored;
  row.silhouette = exact_silhouette(*held.points, held.plan, request, invocation.progress).mean;
  return row;
}

/// Fills the gaps of all rows: every reference set is held once and clustered for all numbers.
void add_gaps(HeldPoints& held, const SweepOptions& options, Sweep& sweep, Invocation& invocation) {
  std::vector<std::vector<double>> inertia(sweep.rows.size());
  for (std::int64_t b = 0; b < options.references; ++b) {
    invocation.progress.phase("reference", 0);
    PointsMatrix values = reference_points(held.plan, class_of(held.values->values()),
                                           static_cast<std::uint64_t>(options.common.seed), b);
    if (metric_of(options.common) == Metric::cosine) {
      std::visit(
          [&]<class T>(Matrix<T>& rows) {
            if constexpr (std::is_floating_point_v<T>) normalize_rows(rows.view(), {"reference set", 0});
          },
          values);
    }
    const std::unique_ptr<Points> points = held.backend->hold({view_of(values), 0});
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    KMeansResult before;
    for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
      const KMeansOptions run = run_options(options, sweep.rows[i].clusters, std::as_const(before.centroids).view());
      before = kmeans(*points, plan, run, invocation.progress);
      inertia[i].push_back(before.inertia);
    }
  }
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    sweep.rows[i].gap = gap_statistic(sweep.rows[i].result.inertia, inertia[i]);
  }
}

std::string stored_command(const SweepOptions& options, const data::PointSource& points) {
  std::string command =
      fmt::format("sweep {} --clusters {} --init {}", stored_name(points.name()), options.clusters, options.init);
  if (start_of(options).is_random()) command += fmt::format(" --n-init {}", options.runs);
  command += fmt::format(" --seed {} --max-iterations {} --tolerance {} --silhouette {}", options.common.seed,
                         options.max_iterations, options.tolerance, options.silhouette);
  if (options.silhouette == "exact" && options.sample > 0) command += fmt::format(" --sample {}", options.sample);
  if (options.references > 0) command += fmt::format(" --gap {}", options.references);
  if (options.warm) command += " --warm";
  return command + fmt::format(" --precision {}", name_of(points.value_class())) + stored_input(options.common) +
         stored_weights(options.common) + stored_metric(options.common);
}

bool is_csv(const std::string& path) { return data::has_ending(path, ".csv"); }

void write(const SweepOptions& options, const Sweep& sweep, const Suggestion& suggestion, const HeldPoints& held,
           const std::optional<Weighting>& weighting, const data::OutputOptions& output) {
  const data::PointSource& points = held.values->source();
  const std::string& target = options.common.output;
  if (is_csv(target)) return data::write_text_file(target, output, csv_of(sweep));
  data::ResultFile file(target, output);
  write_head(file, {"kith-sweep", stored_command(options, points), points.value_class(), metric_of(options.common)},
             points);
  file.attribute("seed", options.common.seed);
  file.attribute("suggested", suggestion.clusters);
  if (!suggestion.reason.empty()) file.attribute("reason", suggestion.reason);
  write_dropped_rows(file, options.common, *held.values);
  write_weighting(file, weighting);
  write_preparation(file, held.preparation);
  std::vector<std::int64_t> counts, iterations;
  for (const SweepRow& row : sweep.rows) {
    counts.push_back(row.clusters);
    iterations.push_back(row.result.iterations);
  }
  file.dataset("k", std::span<const std::int64_t>(counts));
  file.dataset("iterations", std::span<const std::int64_t>(iterations));
  for (const SweepColumn& column : columns_of(sweep)) {
    std::vector<double> values;
    for (const SweepRow& row : sweep.rows) values.push_back(column.value(row));
    file.dataset(column.name, std::span<const double>(values));
  }
  for (const SweepRow& row : sweep.rows) {
    const std::string group = fmt::format("k={}", row.clusters);
    file.group(group);
    file.dataset(group + "/labels", std::span<const std::int32_t>(row.result.labels));
    file.dataset(group + "/counts", std::span<const std::int64_t>(row.result.counts));
    if (weighting) file.dataset(group + "/weights", std::span<const double>(row.result.weights));
    file.dataset(group + "/inertia_per_cluster", std::span<const double>(row.result.inertia_per_cluster));
    file.dataset(group + "/centroids", row.result.centroids.view());
    file.dataset(group + "/nearest_row", std::span<const std::int64_t>(row.result.nearest_row));
  }
  file.finish();
}

/// Says what was suggested, and warns of numbers whose run was cut short.
void tell(const Sweep& sweep, const Suggestion& suggestion, Invocation& invocation) {
  std::string stopped;
  for (const SweepRow& row : sweep.rows) {
    if (row.result.stopped_by == "max-iterations")
      stopped += fmt::format("{}{}", stopped.empty() ? "" : ", ", row.clusters);
  }
  if (!stopped.empty()) {
    invocation.progress.warning(
        fmt::format("not converged after --max-iterations for k = {}; give a larger --max-iterations", stopped));
  }
  if (!suggestion.disagreement.empty()) invocation.progress.warning(suggestion.disagreement);
  if (suggestion.clusters > 0) {
    Terminal::instance().say(fmt::format("suggested  k = {}: {}", suggestion.clusters, suggestion.reason));
  }
}

/// The command that makes the suggested run alone.
std::string cluster_command(const SweepOptions& options, const Suggestion& suggestion) {
  std::string command = fmt::format("kith cluster {} -k {}", shell_word(options.points),
                                    suggestion.clusters > 0 ? std::to_string(suggestion.clusters) : "K");
  if (options.init != "k-means++") command += fmt::format(" --init {}", shell_word(options.init));
  if (options.runs > 1) command += fmt::format(" --n-init {}", options.runs);
  if (options.common.seed != 0) command += fmt::format(" --seed {}", options.common.seed);
  if (!options.common.weights.empty()) command += fmt::format(" --weights {}", shell_word(options.common.weights));
  if (!options.common.weight_column.empty()) {
    command += fmt::format(" --weight-column {}", shell_word(options.common.weight_column));
  }
  return command + shown_input(options.common) + stored_metric(options.common) + " -o clusters.h5";
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  SweepOptions options;
  OptionSet set({.command = "sweep",
                 .summary = "k-means for many numbers of clusters, with scores that help to choose one.",
                 .usage = "POINTS -k LIST [options]",
                 .examples = {"kith sweep points.h5:/train -k 2-10",
                              "kith sweep points.h5:/train -k 2-64:log --n-init 10 -o sweep.h5",
                              "kith sweep points.h5:/train -k 2,4,8,16 --silhouette exact --gap 10 -o sweep.csv"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.points.empty()) set.refuse_missing("POINTS, the file to cluster,");
  if (options.clusters.empty()) set.refuse_missing("-k, the numbers of clusters,");
  const std::vector<std::int64_t> counts = parse_cluster_counts(options.clusters, "-k");
  refuse_metrics_without_means(options.common);
  Invocation invocation("sweep", options.common);
  const std::string& target = options.common.output;
  data::OutputOptions output = output_options(options.common, {options.points});
  output.endings = {".h5", ".csv"};
  if (!target.empty()) data::check_output(target, output);
  const auto points = open_input(options.points, invocation);
  invocation.report.points = describe(*points);
  invocation.report.seed = options.common.seed;
  check(options, counts, *points);
  const auto weighting = read_weighting(options.common, *points);
  if (weighting) {
    invocation.report.weights = describe(*weighting);
    check_weighted_preparation(options.common);
  }
  require_memory(sweep_bytes(options, counts, *points) + preparation_bytes(*points, options.common) +
                     weighting_bytes(weighting, *points),
                 points->name(), options.common.memory);

  HeldPoints held = hold_points(
      *points, invocation, [&] { warn_of_options(set, options, invocation); }, weighting);
  check_counted(counts.back(), held, *points);
  Sweep sweep;
  sweep.silhouette = options.silhouette;
  sweep.sample = options.silhouette == "exact" && options.sample < held.points->rows() ? options.sample : 0;
  sweep.references = options.references;
  for (const std::int64_t clusters : counts) {
    const auto known =
        sweep.rows.empty() ? MatrixView<const double>{} : std::as_const(sweep.rows.back().result.centroids).view();
    sweep.rows.push_back(row_of(held, options, clusters, known, invocation));
  }
  if (options.references > 0) add_gaps(held, options, sweep, invocation);
  for (SweepRow& row : sweep.rows) {
    if (held.weighed) held.weighed->label_absent_rows(row.result, *held.backend);
    restore_rows(row.result, *held.values);
  }
  note_device_memory(held, invocation);

  const Suggestion suggestion = suggestion_of(sweep);
  invocation.report.sweep = report_of(sweep, suggestion);
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, sweep, suggestion, held, weighting, output);
    invocation.wrote(target);
  }
  if (!options.common.json) print_out(show(sweep));
  tell(sweep, suggestion, invocation);
  invocation.close(cluster_command(options, suggestion));
  return 0;
}

}  // namespace kith::app
