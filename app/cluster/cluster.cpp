// kith cluster: k-means of the points in a file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/cluster/label_output.h"
#include "app/cluster/variants.h"
#include "app/commands.h"
#include "app/run/checkpointing.h"
#include "app/run/dropped_rows.h"
#include "app/run/held_points.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/preparation.h"
#include "app/run/processes.h"
#include "app/run/profile.h"
#include "app/run/results.h"
#include "app/run/start.h"
#include "app/run/weighting.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/result.h"
#include "data/results/other_formats.h"
#include "kernels/cpu/memory.h"

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
  std::string profile;         // a file; empty: none
  std::string order;           // "size", or a column; empty: the clusters keep the numbers of the run
  std::string labels;          // a file; empty: none
  std::string save_centroids;  // the same
  std::string write_obs;
  VariantOptions variant;
  CheckpointOptions checkpoint;
  CommonOptions common;

  std::string fixed_start;  // once the start is open: why it is not random, or empty
  bool all_frozen = false;  // once --freeze is open

  /// The file that --init names; empty if --init names a rule.
  std::string init_file() const { return is_start_rule(init) ? "" : init; }
  /// Whether --balance moves labels after the iterations. Then a row may be nearer to another centroid, and the
  /// centroids are not those of the last iteration.
  bool moves_labels() const { return variant.balance && variant.sizes.given(); }
  bool profiles() const { return explain || !profile.empty(); }
  bool orders_by_column() const { return !order.empty() && order != "size"; }
  bool writes_labels_only() const { return is_label_output(common, write_obs); }
};

void declare_start(OptionSet& set, ClusterOptions& options) {
  const Reason frozen = when([&options] { return options.all_frozen; }, "all centroids are frozen");
  const Reason fixed = [&options] { return options.fixed_start; };
  const auto bisecting = [&options] { return options.variant.is_bisecting(); };
  set.text({.names = "--init",
            .value = "HOW",
            .help = "Initial centroids: k-means++, k-means|| (for large K), random (rows), first (rows), farthest "
                    "(farthest-first traversal), or FILE[:DATASET] of K rows. kith uses the metric of a result, and "
                    "resumes one that was interrupted or reached its limit if the other options are unchanged.",
            .shown_default = kDefaultStart,
            .stored = Stored::always,
            .no_effect = {frozen},
            .refused = {when([=, &options] { return bisecting() && !options.init_file().empty(); },
                             "--init FILE cannot be combined with --algorithm bisecting, which begins with one "
                             "cluster; leave one of them out")}},
           options.init);
  set.text({.names = "--init-labels",
            .value = "FILE[:DATASET]",
            .help = "Start with the means of the rows that have the same label here: a vector, a result, or "
                    "FILE:COLUMN of a text file.",
            .input = Input::table,
            .refused = {when([&set] { return set.on_command_line("--init"); },
                             "--init-labels cannot be combined with --init; leave one of them out"),
                        when(bisecting,
                             "--init-labels cannot be combined with --algorithm bisecting, which begins with one "
                             "cluster; leave one of them out")}},
           options.init_labels);
  set.integer({.names = "--n-init",
               .value = "N",
               .help = "Number of runs with different starts; kith keeps the run with the lowest inertia.",
               .no_effect = {frozen, fixed}},
              {1, 1'000'000}, options.runs);
}

void declare(OptionSet& set, ClusterOptions& options) {
  const Reason no_iterations = when([&options] { return options.variant.batch > 0 && options.variant.no_finish; },
                                    "--no-finish skips the iterations");
  add_points(set, options.points, "the file to cluster");
  set.integer({.names = "-k,--clusters",
               .value = "K",
               .help = "Number of clusters.",
               .shown_default = "the number of rows of --init FILE, or of labels in --init-labels",
               .stored = Stored::always},
              {1, std::numeric_limits<std::int32_t>::max()}, options.clusters);
  declare_start(set, options);
  add_limit_options(set, {no_iterations}, options.max_iterations, options.tolerance);
  add_variant_options(set, options.variant, options.common, output_reasons(options.common, options.write_obs));
  set.text({.names = "--order",
            .value = "size|COLUMN",
            .help = "Number the clusters by size, the largest first, or by their mean of this column of the file, the "
                    "smallest first.",
            .section = Section::output,
            .shown_default = "as the run numbers them",
            .stored = {Stored::if_changed, position::kExtra},
            .refused = {when([&options] { return !options.variant.freeze.empty(); },
                             "--order cannot be combined with --freeze, whose centroids come first; leave one of them "
                             "out")}},
           options.order);
  add_distance_option(set, options.save_distances, options.common, options.labels, options.write_obs);
  set.flag({.names = "--explain",
            .help = "Print for every cluster its mean or commonest text in the columns that set it most apart, in the "
                    "units of the file. A result has them as /profile_means and so on.",
            .stored = {Stored::if_changed, position::kExtra}},
           options.explain);
  set.text({.names = "--profile",
            .value = "FILE.csv",
            .help = "Write what --explain prints, of all columns, as a table: a row for each cluster and column.",
            .section = Section::output,
            .shown_default = "none"},
           options.profile);
  add_label_option(set, options.labels, options.write_obs, options.common);
  set.text({.names = "--save-centroids",
            .value = "FILE",
            .help = "Also write the centroids, in the units of the points where --scale or --pca can be inverted: "
                    ".parquet or .arrow (cluster, rows, vector, as vector databases load them), .npy, .csv or .fbin.",
            .section = Section::output,
            .shown_default = "none"},
           options.save_centroids);
  add_checkpoint_options(set, options.checkpoint);
  add_keep_option(set, options.checkpoint);
  for (const char* name : {"--checkpoint", "--keep-best"}) {
    set[name].refused = {when([&options] { return options.variant.is_bisecting(); },
                              std::string(name) +
                                  " cannot be combined with --algorithm bisecting, whose splits have no "
                                  "checkpoint; leave one of them out")};
  }
  add_weight_options(set, options.common);
  add_missing_options(set, options.common, true, kFillingHelp);
  add_preparation_options(set, options.common);
  add_prepare_option(set, options.common);
  add_label_common_options(set, options.common);
  set["--metric"].refused = {[&options] { return metric_without_means(options.common); }};
  set["--seed"].no_effect = set["--n-init"].no_effect;
}

/// What a run of kith cluster finds when its inputs are open.
struct ClusterInputs {
  Start start;
  Matrix<double> centroids = {};        // of the start, if it has some
  Matrix<double> frozen = {};           // of --freeze
  MatrixView<const double> given = {};  // centroids without frozen ones
  std::int64_t clusters = 0;            // -k, or those of the start
};

/// The number of -k; without it that of the start, and the frozen ones unless they are among them.
std::int64_t number_of_clusters(const ClusterOptions& options, const ClusterInputs& inputs) {
  const Start& start = inputs.start;
  if (options.clusters > 0 || start.clusters() == 0) return options.clusters;
  const bool has_frozen = start.given && begins_with(inputs.centroids.view(), inputs.frozen.view());
  return start.clusters() + (has_frozen ? 0 : inputs.frozen.rows());
}

void check_init(const ClusterOptions& options, const ClusterInputs& inputs, const PointsRun& run) {
  const data::PointSource& given = *inputs.start.given;
  const std::int64_t rows = given.rows(), columns = prepared_columns(*run.source, run.common);
  const bool is_whole = rows + dropped_before(options.variant, options.init) == inputs.clusters;
  const bool is_rest = inputs.frozen.rows() + rows == inputs.clusters;
  if ((!is_whole && !is_rest) || given.columns() != columns) {
    const std::string rest = inputs.frozen.rows() > 0 ? fmt::format(", or {} besides the frozen ones",
                                                                    inputs.clusters - inputs.frozen.rows())
                                                      : "";
    throw Error(ExitCode::usage,
                fmt::format("--init {}: expected {} centroids of {} columns{}, for -k and {}, found {} x {}; leave out "
                            "-k, or give centroids of points like these",
                            options.init, inputs.clusters, columns, rest, run.source->name(), rows, given.columns()));
  }
  check_same_preparation("--init", given.name(), run.common);
}

void check_clusters(const ClusterOptions& options, const ClusterInputs& inputs, const PointsRun& run) {
  const std::int64_t clusters = inputs.clusters;
  const data::PointSource& points = *run.source;
  if (clusters == 0) run.set.refuse_missing("-k, the number of clusters,");
  if (inputs.frozen.rows() > clusters) {
    throw Error(ExitCode::usage,
                fmt::format("-k {}: --freeze {} has {} centroids, which count towards K; expected at least that many",
                            clusters, options.variant.freeze, inputs.frozen.rows()));
  }
  if (clusters > points.rows()) {
    throw Error(ExitCode::usage, fmt::format("-k {}: {} has only {} rows; expected at most {} clusters", clusters,
                                             points.name(), points.rows(), points.rows()));
  }
  if (inputs.start.labels) check_labels(inputs.start, clusters - inputs.frozen.rows(), points);
}

std::string stored_command(const ClusterOptions& options, const ClusterInputs& inputs, const PointsRun& run) {
  const std::optional<Continuation>& continuation = inputs.start.continuation;
  std::string start = inputs.start.option();
  std::int64_t limit = options.max_iterations;
  if (continuation && continuation->start) {
    start = continuation->start->options;
    limit = continuation->stopped.limit;
  } else if (inputs.start.is_random()) {
    start += fmt::format(" --n-init {} --seed {}", options.runs, run.common.seed);
  }
  OptionSet::Replacements words = stored_words("POINTS", *run.source, run.source->value_class(), run.common);
  words["--clusters"] = fmt::format("--clusters {}", inputs.clusters);
  words["--init"] = start;
  words["--max-iterations"] = fmt::format("--max-iterations {}", limit);
  if (!options.variant.balance) words["--min-size"] = words["--max-size"] = "";
  return run.set.stored_command(words);
}

/// Opens all inputs, settles the options whose defaults depend on them, and refuses what can be known to be wrong
/// before values are read.
ClusterInputs open_inputs(ClusterOptions& options, PointsRun& run, const Arguments& words) {
  choose_preparation(options.points, run.set, options.common);
  take_metric({{"--init", options.init_file()}, {"--freeze", options.variant.freeze}}, {options.points}, run.set,
              options.common);
  ExpectedColumns expected{.indexed = indexed_columns_of(options.init_file(), 0),
                           .model = table_model(options.init_file())};
  if (expected.model) take_all_options(*expected.model, "--init " + options.init, run.set, options.common);
  open_points(run, options.points, expected);
  check_label_output(run, options.write_obs);
  if (options.profiles() || options.orders_by_column()) {
    const char* option = options.explain ? "--explain" : options.orders_by_column() ? "--order" : "--profile";
    const std::string reason = why_no_profile(*run.source, run.common);
    if (!reason.empty()) throw Error(ExitCode::usage, fmt::format("{}: {}", option, reason));
  }
  if (options.orders_by_column()) find_profile_column(*run.source, "--order", options.order);
  if (run.set.source("--init") == Source::none) {
    const std::int64_t clusters = options.variant.is_bisecting() ? 2 : options.clusters;
    options.init = default_start(*run.source, clusters, run.report);
  }
  run.report.seed = run.common.seed;
  const Metric metric = metric_of(run.common);
  ClusterInputs inputs{.start = open_start(options.init, options.init_labels, run.common, run.source)};
  const Start& start = inputs.start;
  const auto frozen = open_frozen(options.variant, *run.source, prepared_columns(*run.source, run.common), run.common);
  if (frozen) check_same_preparation("--freeze", frozen->name(), run.common);
  inputs.centroids = centroid_values(start.given.get(), metric);
  inputs.frozen = centroid_values(frozen.get(), metric);
  inputs.clusters = number_of_clusters(options, inputs);
  if (start.given) check_init(options, inputs, run);
  check_clusters(options, inputs, run);
  fit_to_rows(options.variant, run.source->rows(), inputs.clusters, run.progress);
  // A run that goes on with other numbers might decide ties otherwise than one that did not stop.
  if (start.given && !options.moves_labels() && options.order.empty()) {
    auto& continuation = inputs.start.continuation;
    continuation = find_continuation(options.init, stored_command(options, inputs, run), *run.source);
    if (continuation) {
      continuation->set_limit(options.max_iterations, run.set.source("--max-iterations") == Source::none);
    }
  }
  options.all_frozen = inputs.frozen.rows() == inputs.clusters;
  if (!start.is_random()) options.fixed_start = start.option() + " uses no random numbers";
  inputs.given = beside_frozen(options.variant, options.init, inputs.clusters, std::as_const(inputs.centroids).view(),
                               std::as_const(inputs.frozen).view());
  read_weights(run);
  open_checkpoint(run, options.checkpoint, words, stored_command(options, inputs, run));
  return inputs;
}

KMeansOptions kmeans_options(const ClusterOptions& options, const ClusterInputs& inputs) {
  const Start& start = inputs.start;
  return {.clusters = inputs.given.rows > 0 ? inputs.frozen.rows() + inputs.given.rows : inputs.clusters,
          .init = start.init,
          .frozen = inputs.frozen.view(),
          .given = inputs.given,
          .runs = start.is_random() && !options.all_frozen ? static_cast<int>(options.runs) : 1,
          .max_iterations = static_cast<int>(options.max_iterations),
          .stopped = start.continuation ? std::optional(start.continuation->stopped) : std::nullopt,
          .tolerance = options.tolerance,
          .seed = options.common.seed,
          .metric = metric_of(options.common),
          .empty = empty_rule(options.variant),
          .keep_distances = options.save_distances,
          .keep_medoids = options.variant.medoids};
}

Needs needs_of(const ClusterOptions& options, const ClusterInputs& inputs, const PointsRun& run) {
  const data::PointSource& points = *run.source;
  const KMeansOptions kmeans = kmeans_options(options, inputs);
  Needs needs{.stored_command = stored_command(options, inputs, run),
              .writes_result = !run.target.empty(),
              .held_row_bytes = listed_row_bytes(points, inputs.clusters)};
  needs.bytes = assignment_bytes(points, {.clusters = inputs.clusters,
                                          .keeps_distances = options.save_distances,
                                          .seeds = inputs.start.init == Init::kmeans_plus_plus,
                                          .runs = kmeans.runs,
                                          .threads = planned_threads(run.common)}) +
                variant_bytes(options.variant, points, inputs.clusters) +
                checkpoint_bytes(options.checkpoint, inputs.clusters, points.columns());
  // The search for the rows nearest to the centroids may make cells if few rows are far from all others.
  const std::int64_t least = needs.bytes - points.rows() * needs.held_row_bytes;
  const cpu::SearchBytes search = cpu::search_bytes({.rows = points.rows(),
                                                     .columns = prepared_columns(points, run.common),
                                                     .is_wide = data::size_of(points.held_as()) == 8,
                                                     .queries = inputs.clusters,
                                                     .block = inputs.clusters,
                                                     .neighbors = 1,
                                                     .threads = planned_threads(run.common),
                                                     .spare = spare_bytes(run, needs.bytes)});
  needs.use = {least, std::max(needs.bytes, least + search.most), "by the screens that the data allow"};
  if (options.profiles() || options.orders_by_column()) needs.bytes += profile_bytes(points, inputs.clusters);
  needs.all_rows = options.explain              ? "--explain needs all rows in memory"
                   : options.orders_by_column() ? "--order COLUMN needs all rows in memory"
                   : !options.profile.empty()   ? "--profile needs all rows in memory"
                   : inputs.start.labels        ? "--init-labels needs all rows in memory"
                                                : needs_memory(options.variant);
  needs.work = kmeans_work(kmeans);
  needs.work.insert(needs.work.begin(), preparing());
  needs.is_all_work = is_plain(options.variant);
  needs.result_bytes = label_bytes(points, options.save_distances) + 8 * inputs.clusters * points.columns();
  return needs;
}

/// Whether --init can resume the result: it holds everything, and its centroids are those of the last iteration.
bool can_resume(const KMeansResult& result, int runs, const ClusterOptions& options, const PointsRun& run) {
  const bool is_whole = result.iterations > 0 && std::ssize(result.runs) == runs;
  return !run.target.empty() && !options.writes_labels_only() && !options.moves_labels() && options.order.empty() &&
         (result.stopped_by == "max-iterations" || (result.stopped_by == "interrupted" && is_whole));
}

/// words: of the command, without its name.
void warn_of_limit(const KMeansResult& result, bool resumes, const ClusterOptions& options, const Arguments& words,
                   PointsRun& run) {
  const std::string remedy =
      resumes ? "continue with: " + continuing_command(words, run.target)
      : options.moves_labels()
          ? "increase --max-iterations: balanced clusters cannot be resumed, --init RESULT starts with their means"
      : !options.order.empty()
          ? "increase --max-iterations: clusters numbered by --order cannot be resumed, --init RESULT starts with them"
          : "increase --max-iterations, or write a result with -o and go on from it with --init RESULT";
  const std::size_t rows = result.labels.size();
  const double share =
      100.0 * static_cast<double>(result.changed) / static_cast<double>(std::max<std::size_t>(rows, 1));
  run.progress.warning(fmt::format("{} of {} labels ({:.2g} %) still change after {}; {}", result.changed, rows, share,
                                   progress_of(result, 1), remedy));
}

void warn_of_interruption(const KMeansResult& result, int runs, bool resumes, const Arguments& words, PointsRun& run) {
  const std::string file = run.checkpoint->continued_by();
  run.progress.warning(fmt::format("interrupted after {}; {}", progress_of(result, runs),
                                   !file.empty() ? "continue with: kith resume " + shell_word(file)
                                   : resumes     ? "continue with: " + continuing_command(words, run.target)
                                                 : "give --checkpoint FILE to continue such a run"));
}

void report_result(const VariantRun& found, const ClusterOptions& options, std::int64_t clusters, PointsRun& run) {
  const KMeansResult& result = found.result;
  Report& report = run.report;
  note_iterations(report, result);
  const double flops = assignment_flops(run.held.plan.rows, run.held.plan.columns, clusters);
  for (const RunRecord& record : result.runs) {
    report.phase("iterate").flops += flops * static_cast<double>(record.iterations);
    report.phase("assign").flops += flops;
  }
  report.clusters = cluster_report(result);
  report.method = method_of(found, options.variant, run.held.plan.rows);
}

/// What kith cluster has found.
struct Clusters {
  VariantRun run;
  bool resumes = false;  // whether --init can resume the result
};

/// Whether the summary shows what the clusters are: if they and the columns are few, and the values soon read again.
bool shows_profile(std::int64_t clusters, const PointsRun& run) {
  constexpr std::int64_t kClusters = 12, kColumns = 50, kValues = 4'000'000;
  const data::PointSource& points = *run.source;
  return clusters <= kClusters && points.columns() <= kColumns && points.rows() * points.columns() <= kValues &&
         !points.column_names().empty() && !run.common.quiet && !run.held.in_passes && processes().is_alone() &&
         why_no_profile(points, run.common).empty();
}

Profile profile_of(const KMeansResult& result, PointsRun& run) {
  run.progress.phase("explain", 0);
  Profile profile = make_profile({.source = *run.source,
                                  .common = run.common,
                                  .labels = result.labels,
                                  .clusters = std::ssize(result.counts),
                                  .weighting = run.weighting ? &*run.weighting : nullptr});
  profile.counts = result.counts;
  profile.nearest_row = result.nearest_row;
  if (const std::vector<std::string> ids = run.source->kept(data::Kept::id); !ids.empty()) {
    for (const std::int64_t row : result.nearest_row) {
      profile.nearest_id.push_back(row < 0 ? "" : ids[static_cast<std::size_t>(row)]);
    }
  }
  return profile;
}

/// Numbers the clusters as --order says; those without rows come last, and equal ones keep their order.
void put_in_order(VariantRun& found, const ClusterOptions& options, PointsRun& run) {
  const std::vector<std::int64_t>& counts = found.result.counts;
  std::vector<double> keys;
  for (std::size_t c = 0; c < counts.size(); ++c) keys.push_back(-static_cast<double>(counts[c]));
  if (options.orders_by_column()) {
    const std::size_t column = find_profile_column(*run.source, "--order", options.order);
    for (std::size_t c = 0; c < keys.size(); ++c) {
      const double mean = run.report.profile->clusters[c][column].mean;
      keys[c] = std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean;
    }
  }
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&keys](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  renumber(found, order);
  if (run.report.profile) renumber(*run.report.profile, order);
}

/// Clusters the points that are held, and reports the result.
Clusters cluster(const ClusterOptions& options, ClusterInputs& inputs, const Arguments& words, PointsRun& run) {
  const Metric metric = metric_of(options.common);
  check_counted(inputs.clusters, run);
  if (inputs.start.labels) {
    inputs.centroids = label_centroids(inputs.start, run.held, metric);
    inputs.given = std::as_const(inputs.centroids).view();
  }
  KMeansOptions kmeans = kmeans_options(options, inputs);
  kmeans.search_bytes = search_bytes_left(run);
  if (run.checkpoint) {
    kmeans.keeper = &*run.checkpoint;
    kmeans.from = run.checkpoint->next();
  }
  Clusters found{run_variant(run.held, kmeans, options.variant, run)};
  KMeansResult& result = found.run.result;
  complete(result, run);
  if (!result.continues) inputs.start.continuation.reset();
  report_result(found.run, options, inputs.clusters, run);
  found.resumes = can_resume(result, kmeans.runs, options, run);
  if (result.stopped_by == "max-iterations" && result.changed > 0)
    warn_of_limit(result, found.resumes, options, words, run);
  if (run.checkpoint && run.checkpoint->interrupted()) {
    warn_of_interruption(result, kmeans.runs, found.resumes, words, run);
  }
  run.report.explains = options.explain;
  const bool shows = options.profiles() || shows_profile(inputs.clusters, run);
  if (shows || options.orders_by_column()) run.report.profile = profile_of(result, run);
  if (!options.order.empty()) put_in_order(found.run, options, run);
  if (!shows) run.report.profile.reset();
  return found;
}

void show(const KMeansResult& result, const ClusterOptions& options, const PointsRun& run) {
  if (options.explain) run.print(profile_text(*run.report.profile, text_width(Stream::output)));
  if (run.target.empty()) run.print(cluster_table(result));
}

void write(const VariantRun& found, const ClusterOptions& options, const ClusterInputs& inputs, const PointsRun& run) {
  const KMeansResult& result = found.result;
  const Metric metric = metric_of(options.common);
  if (options.writes_labels_only()) {
    return write_label_output(run.common, options.write_obs, *run.source, result, run.output);
  }
  data::ResultFile file(run.target, run.output);
  const ValueClass value_class = run.source->value_class();
  write_head(file, {"kith-clusters", stored_command(options, inputs, run), value_class, metric}, *run.source);
  const std::optional<Continuation>& continuation = inputs.start.continuation;
  const bool has_start = continuation && continuation->start;
  file.attribute("seed", data::seed_attribute(has_start ? continuation->start->seed : run.common.seed));
  file.attribute("init", has_start ? continuation->start->init : inputs.start.stored);
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
  if (!options.order.empty()) file.attribute("order", options.order);
  write_dropped_rows(file, run.common, *run.held.values);
  write_weighting(file, run.weighting);
  write_preparation(file, run.held.preparation);
  write_table_model(file, *run.source, run.common);
  write_assignment(file, result);
  file.dataset("centroids", result.centroids.view());
  write_original_centroids(file, result.centroids.view(), run.held.preparation, metric);
  file.dataset("nearest_row", std::span<const std::int64_t>(result.nearest_row));
  write_iterations(file, continuation ? continuation->iterations : Iterations{}, result);
  if (options.save_distances) write_distances(file, result.distances, value_class);
  write_variant(file, options.variant, found, inputs.clusters);
  if (options.explain) write_profile(file, *run.report.profile);
  file.finish();
}

void save_centroids(const std::string& file, const VariantRun& found, const PointsRun& run) {
  const KMeansResult& result = found.result;
  const bool has_units = !run.held.preparation.is_none() && metric_of(run.common) == Metric::euclidean;
  const auto original =
      has_units ? original_units(result.centroids.view(), run.held.preparation) : std::optional<Matrix<double>>();
  std::vector<std::int64_t> parents(found.tree.parent.empty() ? 0 : result.counts.size());
  for (std::size_t node = 0; node < found.tree.parent.size(); ++node) {
    const std::int64_t cluster = found.tree.cluster[node];
    if (cluster >= 0) parents[static_cast<std::size_t>(cluster)] = found.tree.parent[node];
  }
  data::write_centroids(file, run.side_output("--save-centroids"),
                        {.vectors = original ? original->view() : result.centroids.view(),
                         .columns = run.source->column_names(),
                         .counts = result.counts,
                         .parents = std::move(parents),
                         .are_narrow = run.source->value_class() == ValueClass::f32});
}

/// A command line that uses the result.
std::string next(const ClusterOptions& options, const PointsRun& run) {
  if (run.target.empty() || options.writes_labels_only()) return "";
  const std::string kept = run.checkpoint ? run.checkpoint->continued_by() : "";
  if (!kept.empty()) return "kith resume " + shell_word(kept);
  return fmt::format("kith assign {} --centroids {}", shell_names(options.points == "-" ? "NEW.csv" : options.points),
                     shell_word(run.target));
}

}  // namespace

int run_cluster(const Arguments& arguments) {
  ClusterOptions options;
  OptionSet set({.command = "cluster",
                 .summary = "k-means clustering of the points in a file (labels, centroids, counts, inertia).",
                 .usage = "POINTS -k K [options]",
                 .examples = {"kith cluster points.h5:/train -k 50 -o clusters.h5",
                              "kith cluster customers.csv -k 3 --prepare auto --explain -o clusters.h5",
                              "kith cluster points.h5:/train -k 50 --n-init 10 --seed 1 -o clusters.h5",
                              "kith cluster points.h5:/train --init clusters.h5 --tolerance 0 -o better.h5",
                              "kith cluster points.h5:/train -k 10        # a table on standard output"},
                 .first = {"-k", "-o", "--columns", "--prepare", "--nan", "--scale"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, label_endings(options.common, options.write_obs));
  run.output.may_equal = may_be_written(options.checkpoint, run.target);
  if (!options.init_file().empty()) run.output.inputs.push_back(data::parse_location(options.init).file);
  check_outputs(run, {label_side_output(options.labels),
                      {"--profile", options.profile, {".csv"}},
                      {"--save-centroids", options.save_centroids, {".parquet", ".arrow", ".npy", ".csv", ".fbin"}}});
  ClusterInputs inputs = open_inputs(options, run, arguments);
  Needs needs = needs_of(options, inputs, run);
  if (finished_labels(run, needs.stored_command).are_all) return 0;
  if (!begin(run, std::move(needs))) return 0;
  begin_label_folders(run);
  hold_points(run);
  advise(run);
  const Clusters found = cluster(options, inputs, arguments, run);
  end_computation(run);
  show(found.run.result, options, run);
  begin_write(run);
  write_with_labels(run, found.run.result, [&] { write(found.run, options, inputs, run); });
  if (const std::string file = run.side_file("--profile"); !file.empty()) {
    data::write_text_file(file, run.side_output("--profile"), profile_csv(*run.report.profile));
  }
  if (const std::string file = run.side_file("--save-centroids"); !file.empty()) save_centroids(file, found.run, run);
  return finish(run, next(options, run));
}

}  // namespace kith::app
