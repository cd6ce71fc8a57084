// kith cluster: k-means of the points in a file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/cluster/continuation.h"
#include "app/cluster/explain.h"
#include "app/cluster/label_output.h"
#include "app/cluster/start.h"
#include "app/cluster/variant_run.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "app/run/results.h"
#include "core/kmeans.h"

namespace kith::app {
namespace {

struct ClusterOptions {
  std::string points;
  std::int64_t clusters = 0;
  std::string init = "k-means++";
  std::string init_labels;
  std::int64_t runs = 1;
  std::int64_t max_iterations = 300;
  double tolerance = 1e-4;
  bool save_distances = false;
  bool explain = false;
  std::string write_obs;
  VariantOptions variant;
  CommonOptions common;
};

constexpr std::int64_t kLargestInt = std::numeric_limits<std::int32_t>::max();

void declare(OptionSet& set, ClusterOptions& options) {
  set.positional({.names = "POINTS", .help = "FILE:DATASET of n rows; FILE alone if it holds one matrix."},
                 options.points);
  set.integer({.names = "-k,--clusters",
               .value = "K",
               .help = "Number of clusters.",
               .shown_default = "as many as --init FILE or --init-labels has"},
              {1, kLargestInt}, options.clusters);
  set.text(
      {.names = "--init",
       .value = "HOW",
       .help = "First centroids: k-means++, k-means|| (for large K), random, first (rows), farthest, or "
               "FILE[:DATASET] of K rows. A result brings its metric; one that stopped at its limit of iterations is "
               "gone on with."},
      options.init);
  set.text({.names = "--init-labels",
            .value = "FILE[:DATASET]",
            .help = "First centroids are the means of the rows that have the same label here: a vector, a result, or "
                    "FILE:COLUMN of a text file."},
           options.init_labels);
  set.integer({.names = "--n-init", .value = "N", .help = "Runs from different starts; the lowest inertia is kept."},
              {1, 1'000'000}, options.runs);
  set.integer({.names = "--max-iterations", .value = "N", .help = "Most iterations of a run."}, {1, kLargestInt},
              options.max_iterations);
  set.number({.names = "--tolerance",
              .value = "T",
              .help = "Stop when the squared shifts of the centroids sum to at most T x mean column variance; 0: only "
                      "when no label changes."},
             options.tolerance);
  set.flag({.names = "--save-distances", .help = "Also write every point's distance to its centroid."},
           options.save_distances);
  set.flag({.names = "--explain", .help = "Print for every cluster the columns that set it apart from all points."},
           options.explain);
  add_variant_options(set, options.variant);
  add_label_option(set, options.write_obs);
  add_weight_options(set, options.common);
  add_missing_option(set, options.common);
  add_preparation_options(set, options.common);
  add_common_options(set, options.common, kLabelOutputHelp);
}

/// Whether all centroids of the --init file are meant, frozen ones first, as a result has them.
bool begins_with(MatrixView<const double> given, MatrixView<const double> frozen) {
  return given.rows >= frozen.rows && given.columns == frozen.columns &&
         std::equal(frozen.data, frozen.data + frozen.size(), given.data);
}

/// -k, or where it is left out as many as there are to start from, and the frozen ones unless they are among them.
std::int64_t clusters_of(const ClusterOptions& options, const Start& start, MatrixView<const double> given,
                         MatrixView<const double> frozen) {
  if (options.clusters > 0 || start.clusters() == 0) return options.clusters;
  return start.clusters() + (start.given && begins_with(given, frozen) ? 0 : frozen.rows);
}

/// Everything that can be known to be wrong before the points are read.
/// frozen: how many centroids --freeze gives.
void check(const OptionSet& set, const ClusterOptions& options, const Start& start, std::int64_t frozen,
           const data::PointSource& points) {
  const std::string& init = options.init;
  if (start.given) {
    const std::int64_t rows = start.given->rows();
    const bool is_whole = rows + dropped_before(options.variant, init) == options.clusters;
    const bool is_rest = frozen + rows == options.clusters;
    const std::int64_t columns = prepared_columns(points, options.common);
    if ((!is_whole && !is_rest) || start.given->columns() != columns) {
      const std::string rest = frozen > 0 ? fmt::format(", or {} beside the frozen", options.clusters - frozen) : "";
      throw Error(ExitCode::usage,
                  fmt::format("--init {}: expected {} centroids of {} columns{}, as -k and {} say, found {} x {}; "
                              "leave out -k, or give centroids of points like these",
                              init, options.clusters, columns, rest, points.name(), rows, start.given->columns()));
    }
    check_same_preparation(start.given->name(), options.common);
  }
  if (options.clusters == 0) set.refuse_missing("-k, the number of clusters,");
  if (frozen > options.clusters) {
    throw Error(ExitCode::usage,
                fmt::format("-k {}: --freeze {} has {} centroids, which K counts in; expected at least that many",
                            options.clusters, options.variant.freeze, frozen));
  }
  if (options.clusters > points.rows()) {
    throw Error(ExitCode::usage, fmt::format("-k {}: {} has only {} rows; expected at most {} clusters",
                                             options.clusters, points.name(), points.rows(), points.rows()));
  }
  if (start.labels) check_labels(start, options.clusters - frozen, points);
  if (!(options.tolerance >= 0.0)) {
    throw Error(ExitCode::usage, fmt::format("--tolerance: expected 0 or more, found {}", options.tolerance));
  }
}

/// Those of the --init file that are not frozen: it may hold all centroids, as a result does.
MatrixView<const double> beside_frozen(MatrixView<const double> given, MatrixView<const double> frozen,
                                       const ClusterOptions& options) {
  const bool is_rest = frozen.rows + given.rows == options.clusters;
  if (frozen.rows == 0 || given.rows == 0 || (is_rest && dropped_before(options.variant, options.init) == 0))
    return given;
  if (!begins_with(given, frozen)) {
    throw Error(ExitCode::usage,
                fmt::format("--init {}: expected the {} centroids of --freeze {} first, found others; "
                            "give those that are not frozen alone, {} of them",
                            options.init, frozen.rows, options.variant.freeze, options.clusters - frozen.rows));
  }
  return given.middle(frozen.rows, given.rows - frozen.rows);
}

void warn_of_options(const OptionSet& set, const ClusterOptions& options, const Start& start, bool all_frozen,
                     Invocation& invocation) {
  if (all_frozen) {
    for (const char* option : {"--init", "--seed", "--n-init"}) {
      invocation.warn_without_effect(set, option, "all centroids are frozen");
    }
  } else if (!start.is_random()) {
    const std::string why = fmt::format("{} draws nothing at random", start.option());
    invocation.warn_without_effect(set, "--seed", why);
    invocation.warn_without_effect(set, "--n-init", why);
  }
  warn_of_distances(set, options.write_obs, invocation);
  warn_of_variant(set, options.variant, is_label_output(options.common, options.write_obs), invocation);
  invocation.warn_of_text_options(set, {options.points, options.init_labels});
  invocation.warn_without_effect(set);
}

std::string stored_command(const ClusterOptions& options, const Start& start, const data::PointSource& points) {
  std::string command = fmt::format("cluster {} --clusters {} ", stored_name(points.name()), options.clusters);
  std::int64_t limit = options.max_iterations;
  if (start.continuation && start.continuation->start) {
    command += start.continuation->start->options;
    limit += start.continuation->stopped.iterations;
  } else {
    command += start.option();
    if (start.is_random()) command += fmt::format(" --n-init {} --seed {}", options.runs, options.common.seed);
  }
  command += fmt::format(" --max-iterations {} --tolerance {} --precision {}", limit, options.tolerance,
                         name_of(points.value_class()));
  command += stored_input(options.common) + stored_weights(options.common) + stored_metric(options.common) +
             stored_variant(options.variant);
  return command + (options.save_distances ? " --save-distances" : "");
}

void write(const ClusterOptions& options, const Start& start, const data::PointSource& points,
           const std::optional<Weighting>& weighting, const HeldPoints& held, const VariantRun& run,
           const data::OutputOptions& output) {
  const KMeansResult& result = run.result;
  if (is_label_output(options.common, options.write_obs)) {
    return write_label_output(options.common, options.write_obs, points, result, output);
  }
  data::ResultFile file(options.common.output, output);
  write_head(file,
             {"kith-clusters", stored_command(options, start, points), points.value_class(), metric_of(options.common)},
             points);
  const auto& continuation = start.continuation;
  const bool has_start = continuation && continuation->start;
  file.attribute("seed", has_start ? continuation->start->seed : options.common.seed);
  file.attribute("init", has_start ? continuation->start->init : start.stored);
  file.attribute("n_init", result.runs.empty() ? options.runs : std::ssize(result.runs));
  file.attribute("run", static_cast<std::int64_t>(result.run));
  file.attribute("inertia", result.inertia);
  file.attribute("totss", result.total_inertia);
  file.attribute("betweenss", result.total_inertia - result.inertia);
  file.attribute("iterations", result.iterations);
  file.attribute("stopped_by", result.stopped_by);
  file.attribute("stopped_value", result.stopped_value);
  file.attribute("tolerance", options.tolerance);
  file.attribute("changed", result.changed);
  file.attribute("empty_clusters", result.empty_clusters);
  write_dropped_rows(file, options.common, *held.values);
  write_weighting(file, weighting);
  write_preparation(file, held.preparation);
  write_assignment(file, result);
  file.dataset("centroids", result.centroids.view());
  write_original_centroids(file, result.centroids.view(), held.preparation, metric_of(options.common));
  file.dataset("nearest_row", std::span<const std::int64_t>(result.nearest_row));
  write_iterations(file, continuation ? continuation->iterations : Iterations{}, result);
  if (options.save_distances) write_distances(file, result.distances, points.value_class());
  write_variant(file, options.variant, run, options.clusters);
  file.finish();
}

void fill(Report& report, const KMeansResult& result, double flops_per_assignment) {
  report.iterations = result.history;
  report.runs = result.runs;
  report.kept_run = result.run;
  report.inertia = result.inertia;
  report.stopped_by = result.stopped_by;
  report.stopped_value = result.stopped_value;
  report.shift_threshold = result.shift_threshold;
  report.iterations_done = result.iterations;
  report.changed = result.changed;
  report.total_inertia = result.total_inertia;
  for (const RunRecord& run : result.runs) {
    report.phase("iterate").flops += flops_per_assignment * static_cast<double>(run.iterations);
    report.phase("assign").flops += flops_per_assignment;
  }
  report.clusters = cluster_report(result);
}

}  // namespace

int run_cluster(const Arguments& arguments) {
  ClusterOptions options;
  OptionSet set({.command = "cluster",
                 .summary = "k-means: labels, centroids, counts and inertia of the points in a file.",
                 .usage = "POINTS -k K [options]",
                 .examples = {"kith cluster points.h5:/train -k 50 -o clusters.h5",
                              "kith cluster points.h5:/train -k 50 --n-init 10 --seed 1 -o clusters.h5",
                              "kith cluster points.h5:/train --init clusters.h5 --tolerance 0 -o better.h5",
                              "kith cluster points.h5:/train -k 10        # a table on standard output"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.points.empty()) set.refuse_missing("POINTS, the file to cluster,");
  refuse_metrics_without_means(options.common);
  Invocation invocation("cluster", options.common);
  data::OutputOptions output = output_options(
      options.common,
      {options.points, options.init_labels, options.variant.freeze, is_start_rule(options.init) ? "" : options.init});
  output.endings = label_endings(options.write_obs);
  if (!options.common.output.empty()) data::check_output(options.common.output, output);
  take_metric({{"--init", is_start_rule(options.init) ? "" : options.init}, {"--freeze", options.variant.freeze}}, set,
              options.common);
  const auto points = open_input(options.points, invocation);
  check_label_output(options.common, options.write_obs, *points);
  invocation.report.points = describe(*points);
  invocation.report.seed = options.common.seed;
  if (set.on_command_line("--init") && !options.init_labels.empty()) {
    throw Error(ExitCode::usage, "--init and --init-labels: expected one of them, found both; leave one out");
  }
  Start start = open_start(options.init, options.init_labels, options.common);
  const auto frozen_source = open_frozen(options.variant, *points, prepared_columns(*points, options.common));
  if (frozen_source) check_same_preparation(frozen_source->name(), options.common);
  Matrix<double> centroids = given_centroids(start, metric_of(options.common));
  const Matrix<double> frozen = read_frozen(frozen_source.get(), metric_of(options.common));
  options.clusters = clusters_of(options, start, std::as_const(centroids).view(), frozen.view());
  check(set, options, start, frozen.rows(), *points);
  check_variant(options.variant, start.init == Init::given, points->rows(), options.clusters);
  const bool changes_labels = options.variant.balance && options.variant.sizes.given();  // and so the centroids
  if (start.given && !changes_labels) {
    start.continuation = find_continuation(options.init, stored_command(options, start, *points), *points);
  }
  const auto weighting = read_weighting(options.common, *points);
  if (weighting) {
    invocation.report.weights = describe(*weighting);
    check_weighted_preparation(options.common);
    refuse_weights(options.variant);
  }
  require_memory(points_bytes(*points) + preparation_bytes(*points, options.common) +
                     assignment_bytes(*points, options.clusters) + weighting_bytes(weighting, *points) +
                     variant_bytes(options.variant, *points),
                 points->name(), options.common.memory);

  const bool all_frozen = frozen.rows() == options.clusters;
  MatrixView<const double> given = beside_frozen(centroids.view(), frozen.view(), options);
  HeldPoints held = hold_points(
      *points, invocation, [&] { warn_of_options(set, options, start, all_frozen, invocation); }, weighting);
  check_counted(options.clusters, held, *points);
  if (start.labels) {
    centroids = label_centroids(start, held, metric_of(options.common));
    given = std::as_const(centroids).view();
  }
  VariantRun run =
      run_variant(held,
                  {.clusters = given.rows > 0 ? frozen.rows() + given.rows : options.clusters,
                   .init = start.init,
                   .frozen = frozen.view(),
                   .given = given,
                   .runs = start.is_random() && !all_frozen ? static_cast<int>(options.runs) : 1,
                   .max_iterations = static_cast<int>(options.max_iterations),
                   .stopped = start.continuation ? std::optional(start.continuation->stopped) : std::nullopt,
                   .tolerance = options.tolerance,
                   .seed = static_cast<std::uint64_t>(options.common.seed),
                   .metric = metric_of(options.common),
                   .empty = empty_rule(options.variant),
                   .keep_distances = options.save_distances,
                   .keep_medoids = options.variant.medoids},
                  options.variant, invocation);
  KMeansResult& result = run.result;
  if (held.weighed) held.weighed->label_absent_rows(result, *held.backend);
  restore_rows(result, *held.values);
  note_device_memory(held, invocation);
  if (!result.continues) start.continuation.reset();
  fill(invocation.report, result, assignment_flops(held.rows(), options.clusters));
  invocation.report.method = method_of(run, options.variant, held.plan.rows);
  const std::string& target = options.common.output;
  const bool is_whole = !target.empty() && !is_label_output(options.common, options.write_obs);
  const bool can_go_on = is_whole && !changes_labels && result.stopped_by == "max-iterations";
  if (result.stopped_by == "max-iterations") {
    invocation.progress.warning(fmt::format("not converged after {} iterations; {}", result.iterations,
                                            can_go_on ? "go on with --init " + shell_word(target)
                                            : changes_labels
                                                ? "give a larger --max-iterations: a run cannot go on from balanced "
                                                  "sizes, --init RESULT begins anew with their means"
                                                : "give a larger --max-iterations, or write a result with -o "
                                                  "and go on from it with --init RESULT"));
  }
  if (options.explain) {
    invocation.report.explanations = explain(result, held, points->column_names());
    if (!options.common.json) print_out(explanation_table(invocation.report.explanations, result.counts));
  }
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, start, *points, weighting, held, run, output);
    invocation.wrote(target);
  } else if (!options.common.json) {
    print_out(cluster_table(result));
  }
  invocation.close(can_go_on  ? continuing_command(arguments, target)
                   : is_whole ? fmt::format("kith assign NEW.h5 --centroids {}", shell_word(target))
                              : "");
  return 0;
}

}  // namespace kith::app
