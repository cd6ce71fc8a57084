// kith sweep: k-means for many numbers of clusters, with scores that help to choose one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/evaluate/internal_evaluation.h"
#include "app/evaluate/suggestion.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/preparation.h"
#include "app/run/report.h"
#include "app/run/results.h"
#include "app/run/start.h"
#include "core/error.h"
#include "core/kmeans/kmeans.h"
#include "core/numbers/metric.h"
#include "core/scores/internal_scores.h"
#include "core/scores/silhouette.h"
#include "data/io/file_kind.h"
#include "data/io/utf8.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

/// One number of clusters.
struct SweepRow {
  std::int64_t clusters = 0;
  KMeansResult result;
  Scores scores;
};

struct Sweep {
  std::vector<SweepRow> rows;             // by ascending number of clusters
  std::string silhouette = "simplified";  // "simplified" or "exact"
  std::int64_t sample = 0;                // rows with an exact silhouette; 0: all
  std::int64_t references = 0;            // sets of the gap statistic; 0: no gap statistic
};

std::vector<double> values_of(const Sweep& sweep, double Scores::*value) {
  std::vector<double> values;
  for (const SweepRow& row : sweep.rows) values.push_back(row.scores.*value);
  return values;
}

bool is_gap(const Score& score) { return score.value == &Scores::gap || score.value == &Scores::gap_error; }

/// Up to ten marks, of a value between 0 and `most`.
std::string bar(double value, double most) {
  constexpr double kMarks = 10;
  const double share = most > 0.0 && value > 0.0 ? value / most : 0.0;
  return std::string(static_cast<std::size_t>(std::lround(kMarks * std::min(share, 1.0))), '#');
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-"; }

/// The scores of a sweep; those of the gap statistic only with references.
std::vector<Score> scores_of(const Sweep& sweep) {
  std::vector<Score> scores = scores_for(ScoreUse::sweep);
  if (sweep.references == 0) std::erase_if(scores, is_gap);
  return scores;
}

SweepScores sweep_scores(const Sweep& sweep) {
  SweepScores scores{{}, {}, sweep.silhouette};
  for (const SweepRow& row : sweep.rows) scores.clusters.push_back(static_cast<double>(row.clusters));
  for (const Score& score : scores_of(sweep)) scores.columns.emplace_back(score, values_of(sweep, score.value));
  return scores;
}

/// A line for each number of clusters, with text bars for inertia and silhouette.
std::string show(const Sweep& sweep) {
  const std::vector<Score> scores = scores_of(sweep);
  TextTable table{{Align::right, Align::right}, {{"k", "iterations"}}};
  for (const Score& score : scores) table.rows[0].emplace_back(score.heading);
  table.columns.resize(table.rows[0].size(), Align::right);
  for (const char* bars : {"inertia", "silhouette"}) {
    table.rows[0].emplace_back(bars);
    table.columns.push_back(Align::left);
  }
  const std::vector<double> inertia = values_of(sweep, &Scores::inertia);
  const double most = *std::max_element(inertia.begin(), inertia.end());
  for (const SweepRow& row : sweep.rows) {
    std::vector<std::string> cells{std::to_string(row.clusters), std::to_string(row.result.iterations)};
    for (const Score& score : scores) cells.push_back(cell(row.scores.*score.value));
    cells.push_back(bar(row.result.inertia, most));
    cells.push_back(bar(row.scores.silhouette, 1.0));
    table.rows.push_back(std::move(cells));
  }
  return lay_out(table, text_width(Stream::output));
}

/// The same as CSV, without bars, with all digits.
std::string csv_of(const Sweep& sweep) {
  const std::vector<Score> scores = scores_of(sweep);
  std::string out = "k,iterations,stopped_by";
  for (const Score& score : scores) out += fmt::format(",{}", score.name);
  out += "\n";
  for (const SweepRow& row : sweep.rows) {
    out += fmt::format("{},{},{}", row.clusters, row.result.iterations, row.result.stopped_by);
    for (const Score& score : scores) {
      const double value = row.scores.*score.value;
      out += std::isfinite(value) ? fmt::format(",{}", value) : ",";
    }
    out += "\n";
  }
  return out;
}

SweepReport report_of(const Sweep& sweep, const Suggestion& suggestion) {
  SweepReport report{sweep.silhouette, suggestion.clusters, suggestion.reason, suggestion.criteria, {}};
  for (const SweepRow& row : sweep.rows) {
    SweepReport::Row line{row.clusters, row.result.iterations, row.result.stopped_by, {}};
    for (const Score& score : scores_of(sweep)) line.scores.emplace_back(score.name, row.scores.*score.value);
    report.rows.push_back(std::move(line));
  }
  return report;
}

constexpr std::size_t kMostCounts = 10'000;

[[noreturn]] void refuse(const std::string& where, const std::string& item) {
  throw Error(ExitCode::usage,
              fmt::format("{}: expected numbers of clusters as in 2-10, 2,4,8 or 2-64:log, found '{}'", where, item));
}

void add_counts_of(const std::string& item, const std::string& where, std::set<std::int64_t>& counts) {
  const auto number = [&](const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) refuse(where, item);
    return parse_integer(text, where, {1, std::numeric_limits<std::int32_t>::max()});
  };
  const std::size_t dash = item.find('-'), colon = item.find(':');
  if (dash == item.npos) {
    counts.insert(number(item));
    return;
  }
  const std::int64_t first = number(item.substr(0, dash));
  const std::int64_t last = number(item.substr(dash + 1, colon == item.npos ? colon : colon - dash - 1));
  const std::string how = colon == item.npos ? "1" : item.substr(colon + 1);
  if (last < first) refuse(where, item);
  const std::int64_t step = how == "log" ? 0 : number(how);
  for (std::int64_t k = first; k <= last && counts.size() <= kMostCounts; k = step == 0 ? 2 * k : k + step) {
    counts.insert(k);
  }
  if (step == 0) counts.insert(last);
}

/// Parses a list of numbers of clusters. Returns them ascending, each once; all are at least 1. The items between
/// commas are N, FIRST-LAST, FIRST-LAST:STEP or FIRST-LAST:log (FIRST, its doubles, and LAST). Throws Error(usage)
/// naming `where` and the item.
std::vector<std::int64_t> parse_cluster_counts(const std::string& text, const std::string& where) {
  std::set<std::int64_t> counts;
  for (const std::string& item : split_text(text, ',')) add_counts_of(item, where, counts);
  if (counts.size() > kMostCounts) {
    throw Error(ExitCode::usage, fmt::format("{}: expected at most {} numbers of clusters, found more; give a step, as "
                                             "in 2-100000:1000",
                                             where, kMostCounts));
  }
  return {counts.begin(), counts.end()};
}

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
  CheckpointOptions checkpoint;
  CommonOptions common;
};

Start start_of(const SweepOptions& options) { return open_start(options.init, "", options.common); }

void declare(OptionSet& set, SweepOptions& options) {
  const Reason fixed = [&options]() -> std::string {
    return start_of(options).is_random() ? "" : fmt::format("--init {} uses no random numbers", options.init);
  };
  add_points(set, options.points, "the file to cluster");
  set.text({.names = "-k,--clusters",
            .value = "LIST",
            .help = "Numbers of clusters: 2-10, 2,4,8, 10-100:10 (steps of 10), 2-64:log (each twice the one before).",
            .required = "the numbers of clusters",
            .stored = Stored::always},
           options.clusters);
  set.choice({.names = "--init",
              .value = "HOW",
              .help = "Initial centroids, as for cluster.",
              .shown_default = kDefaultStart,
              .stored = Stored::always},
             start_rules(), options.init);
  set.integer({.names = "--n-init",
               .value = "N",
               .help = "Number of runs with different starts for each number of clusters; kith keeps the run with the "
                       "lowest inertia.",
               .stored = Stored::if_used,
               .no_effect = {fixed}},
              {1, 1'000'000}, options.runs);
  add_limit_options(set, {}, options.max_iterations, options.tolerance);
  set["--tolerance"].help = "Stop when the sum of the centroids' squared shifts is at most T x mean column variance.";
  add_silhouette_options(set, {"simplified", "exact"},
                         "simplified: from distances to centroids; exact: from all pairs of rows, n x n distances for "
                         "each number of clusters.",
                         position::kLimits, options.silhouette, options.sample);
  set.integer({.names = "--gap",
               .value = "B",
               .help = "Gap statistic with B reference sets, each clustered like the points.",
               .shown_default = "none",
               .stored = {Stored::if_changed, position::kLimits}},
              {1, 10'000}, options.references);
  set.flag({.names = "--warm",
            .help = "Start every number of clusters but the first from the centroids of the one before; --init draws "
                    "the rest. Needs fewer iterations, but the runs are not those of kith cluster.",
            .stored = {Stored::if_changed, position::kLimits},
            .refused = {[&options, fixed] {
              return fixed().empty() ? ""
                                     : "--warm cannot be combined with --init " + options.init +
                                           ", which uses no random numbers; leave one of them out";
            }}},
           options.warm);
  add_checkpoint_options(set, options.checkpoint);
  add_weight_options(set, options.common);
  add_missing_options(set, options.common, true, kFillingHelp);
  add_preparation_options(set, options.common);
  add_prepare_option(set, options.common);
  add_common_options(set, options.common,
                     "Write the result to this HDF5 file, or only the table to .csv; it appears only when it is "
                     "complete.");
  set["--metric"].refused = {[&options] { return metric_without_means(options.common); }};
  set["--seed"].stored.when = Stored::always;
  set["--seed"].no_effect = {
      [&options, fixed]() -> std::string { return options.sample > 0 || options.references > 0 ? "" : fixed(); }};
}

/// What one k-means after the other shares.
struct Series {
  const SweepOptions& options;
  Checkpointing* checkpoint;      // null: none
  std::int64_t search_bytes = 0;  // KMeansOptions::search_bytes
};

/// known: the centroids of the previous number of clusters, for --warm
KMeansOptions run_options(const Series& series, std::int64_t clusters, MatrixView<const double> known) {
  const SweepOptions& options = series.options;
  const Start start = start_of(options);
  return {.clusters = clusters,
          .init = start.init,
          .known = options.warm ? known : MatrixView<const double>{},
          .runs = start.is_random() ? static_cast<int>(options.runs) : 1,
          .max_iterations = static_cast<int>(options.max_iterations),
          .tolerance = options.tolerance,
          .seed = options.common.seed,
          .metric = metric_of(options.common),
          .search_bytes = series.search_bytes,
          .keeper = series.checkpoint,
          .from = series.checkpoint != nullptr ? series.checkpoint->next() : nullptr};
}

ScoreShape score_shape(const SweepOptions& options, const std::vector<std::int64_t>& counts,
                       const data::PointSource& points) {
  return {points.rows(), points.columns(), counts.back(), options.sample, options.common.weighted()};
}

/// Host bytes besides the points: a reference set, labels and centroids of every number of clusters, distances.
std::int64_t sweep_bytes(const SweepOptions& options, const std::vector<std::int64_t>& counts,
                         const data::PointSource& points) {
  constexpr std::int64_t kLabelBytes = 4, kBytesPerRow = 64;
  const std::int64_t n = points.rows(), numbers = std::ssize(counts);
  const std::int64_t states =
      checked_product(numbers, checkpoint_bytes(options.checkpoint, counts.back(), points.columns()), "checkpoint");
  const ScoreShape shape = score_shape(options, counts, points);
  // In passes the distances of the rows that stay are there twice.
  const std::int64_t block =
      options.silhouette == "simplified" ? 2 * mean_distance_bytes(shape) : exact_silhouette_bytes(shape);
  std::int64_t bytes = states + block + checked_product(n, kBytesPerRow, "rows");
  bytes += checked_product(checked_product(numbers, n, "labels"), kLabelBytes, "labels");
  constexpr std::int64_t kBytesPerValue = 64;  // of centroids, as in assignment_bytes()
  bytes += checked_product(numbers * kBytesPerValue, counts.back() * points.columns(), "centroids");
  bytes += checked_product(n, listed_row_bytes(points, counts.back()), "rows");
  bytes += long_row_bytes(n, points.columns(), counts.back(), planned_threads(options.common));
  if (options.references > 0) {
    bytes += checked_product(checked_product(n, points.columns(), "reference set"), sizeof(double), "reference set");
  }
  return bytes;
}

/// Computes one number of clusters and its scores; without --warm the run is that of kith cluster.
SweepRow row_of(HeldPoints& held, const Series& series, std::int64_t clusters, MatrixView<const double> known,
                Job& job) {
  const SweepOptions& options = series.options;
  SweepRow row;
  row.clusters = clusters;
  row.result = kmeans(*held.points, held.plan, run_options(series, clusters, known), job.progress);
  job.progress.phase("score", 0);
  const LabelledClusters labelled = labelled_clusters(*held.points, held.plan, row.result.labels, clusters);
  row.scores.inertia = row.result.inertia;
  row.scores.calinski_harabasz = calinski_harabasz(labelled);
  row.scores.davies_bouldin = davies_bouldin(labelled);
  row.scores.bic = bayesian_information(labelled);
  if (!labelled.comparable()) return row;
  SilhouetteRequest request{row.result.labels,     labelled.counts,     {}, held.plan.weights, labelled.on_mean,
                            labelled.means.view(), announce_silhouettes};
  if (options.silhouette == "simplified") {
    row.scores.silhouette = simplified_silhouette(*held.points, labelled.means.view(), request).mean;
    return row;
  }
  const std::vector<std::int64_t> scored = sampled_rows(held.points->rows(), options.sample, options.common.seed);
  request.scored = scored;
  row.scores.silhouette = exact_silhouette(*held.points, held.plan, request, job.progress).mean;
  return row;
}

/// Adds the gap statistic to all rows. Each reference set is held once and clustered for every number of clusters.
void add_gaps(HeldPoints& held, const Series& series, Sweep& sweep, Job& job) {
  const SweepOptions& options = series.options;
  std::vector<std::vector<double>> inertia(sweep.rows.size());
  for (std::int64_t b = 0; b < options.references; ++b) {
    job.progress.phase("reference", 0);
    PointsMatrix values = reference_points(held.plan, class_of(held.values->values()), options.common.seed, b);
    if (takes_directions(metric_of(options.common))) {
      auto& rows = std::get<Matrix<double>>(values);
      write_directions<double>(rows.view(), rows.view(), {"reference set", 0});
    }
    const std::unique_ptr<Points> points = held.backend->hold({view_of(values), 0});
    const DataPlan plan = make_plan(*points);
    points->prepare(plan);
    KMeansResult before;
    for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
      const KMeansOptions run = run_options(series, sweep.rows[i].clusters, std::as_const(before.centroids).view());
      before = kmeans(*points, plan, run, job.progress);
      inertia[i].push_back(before.inertia);
    }
  }
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    const Gap gap = gap_statistic(sweep.rows[i].result.inertia, inertia[i]);
    sweep.rows[i].scores.gap = gap.value;
    sweep.rows[i].scores.gap_error = gap.error;
  }
}

bool is_csv(const std::string& path) { return data::has_ending(path, ".csv"); }

void open_inputs(SweepOptions& options, const std::vector<std::int64_t>& counts, PointsRun& run) {
  choose_preparation(options.points, run.set, options.common);
  take_file_metric({options.points}, run.set, options.common);
  open_points(run, options.points);
  const data::PointSource& points = *run.source;
  if (run.set.source("--init") == Source::none) options.init = default_start(points, counts.back(), run.report);
  run.report.seed = run.common.seed;
  if (counts.back() > points.rows()) {
    throw Error(ExitCode::usage, fmt::format("-k {}: {} has only {} rows; expected at most {} clusters",
                                             options.clusters, points.name(), points.rows(), points.rows()));
  }
  read_weights(run);
}

std::vector<Work> work_of(const SweepOptions& options, const std::vector<std::int64_t>& counts,
                          const data::PointSource& points) {
  std::vector<Work> work{preparing()};
  for (const std::int64_t clusters : counts) {
    const std::vector<Work> next = kmeans_work(run_options({options, nullptr, 0}, clusters, {}));
    work.insert(work.end(), next.begin(), next.end());
    work.push_back({.phase = "score", .operation = Operation::assign, .times = 2, .size = 1, .passes = 2});
    if (options.silhouette == "simplified") work.push_back(simplified_silhouettes(clusters));
    if (options.silhouette == "exact") work.push_back(exact_silhouettes(points, options.sample));
  }
  return work;
}

std::string stored_command(const PointsRun& run) {
  return run.set.stored_command(stored_words("POINTS", *run.source, run.source->value_class(), run.common));
}

Needs needs_of(const SweepOptions& options, const std::vector<std::int64_t>& counts, const PointsRun& run) {
  const data::PointSource& points = *run.source;
  Needs needs{.stored_command = stored_command(run),
              .writes_result = !run.target.empty(),
              .bytes = sweep_bytes(options, counts, points),
              .held_row_bytes = listed_row_bytes(points, counts.back()),
              .all_rows = options.references > 0 ? "--gap makes as many points in memory"
                                                 : silhouette_needs_memory(options.silhouette),
              .work = work_of(options, counts, points),
              .is_all_work = options.references == 0 && options.silhouette != "exact"};
  const std::int64_t lists = points.rows() * needs.held_row_bytes;
  constexpr std::int64_t kLeastBytesPerRow = 32;  // of those that sweep_bytes() counts; measured
  needs.use = {needs.bytes - lists - points.rows() * kLeastBytesPerRow, needs.bytes,
               "by the screens that the data allow"};
  if (options.silhouette == "simplified") {
    const std::int64_t distances = mean_distance_bytes(score_shape(options, counts, points));
    needs.use->least -= distances;  // the lists are gone when the distances come
    needs.use->most = needs.bytes - lists - distances + std::max<std::int64_t>(lists - distances, 0);
  }
  return needs;
}

Sweep compute(const SweepOptions& options, const std::vector<std::int64_t>& counts, PointsRun& run) {
  check_counted(counts.back(), run);
  if (start_of(options).is_random()) advise_on_starts(options.runs, run.common);
  const bool samples = options.silhouette == "exact" && options.sample < run.held.points->rows();
  Sweep sweep{.rows = {},
              .silhouette = options.silhouette,
              .sample = samples ? options.sample : 0,
              .references = options.references};
  const Series series{options, run.checkpoint ? &*run.checkpoint : nullptr, search_bytes_left(run)};
  for (const std::int64_t clusters : counts) {
    const auto known =
        sweep.rows.empty() ? MatrixView<const double>{} : std::as_const(sweep.rows.back().result.centroids).view();
    sweep.rows.push_back(row_of(run.held, series, clusters, known, run));
  }
  if (options.references > 0) add_gaps(run.held, series, sweep, run);
  for (SweepRow& row : sweep.rows) complete(row.result, run);
  return sweep;
}

void warn_of_results(const Sweep& sweep, const Suggestion& suggestion, Progress& progress) {
  std::vector<std::int64_t> stopped;
  for (const SweepRow& row : sweep.rows) {
    if (row.result.stopped_by == "max-iterations") stopped.push_back(row.clusters);
  }
  if (!stopped.empty()) {
    progress.warning(fmt::format("labels still changed at the limit (--max-iterations) for k = {}; give a larger one",
                                 fmt::join(stopped, ", ")));
  }
  if (!suggestion.disagreement.empty()) progress.warning(suggestion.disagreement);
}

void write(const Sweep& sweep, const Suggestion& suggestion, const PointsRun& run) {
  if (is_csv(run.target)) return data::write_text_file(run.target, run.output, csv_of(sweep));
  data::ResultFile file(run.target, run.output);
  write_head(file, {"kith-sweep", run.needs.stored_command, run.source->value_class(), metric_of(run.common)},
             *run.source);
  file.attribute("seed", data::seed_attribute(run.common.seed));
  file.attribute("suggested", suggestion.clusters);
  if (!suggestion.reason.empty()) file.attribute("reason", suggestion.reason);
  write_dropped_rows(file, run.common, *run.held.values);
  write_weighting(file, run.weighting);
  write_preparation(file, run.held.preparation);
  write_table_model(file, *run.source, run.common);
  std::vector<std::int64_t> counts, iterations;
  for (const SweepRow& row : sweep.rows) {
    counts.push_back(row.clusters);
    iterations.push_back(row.result.iterations);
  }
  file.dataset("k", std::span<const std::int64_t>(counts));
  file.dataset("iterations", std::span<const std::int64_t>(iterations));
  for (const Score& score : scores_of(sweep)) {
    std::vector<double> values;
    for (const SweepRow& row : sweep.rows) values.push_back(row.scores.*score.value);
    file.dataset(score.name, std::span<const double>(values));
  }
  for (const SweepRow& row : sweep.rows) {
    const std::string group = fmt::format("k={}", row.clusters);
    file.group(group);
    file.dataset(group + "/labels", std::span<const std::int32_t>(row.result.labels));
    file.dataset(group + "/counts", std::span<const std::int64_t>(row.result.counts));
    if (run.weighting) file.dataset(group + "/weights", std::span<const double>(row.result.weights));
    file.dataset(group + "/inertia_per_cluster", std::span<const double>(row.result.inertia_per_cluster));
    file.dataset(group + "/centroids", row.result.centroids.view());
    file.dataset(group + "/nearest_row", std::span<const std::int64_t>(row.result.nearest_row));
  }
  file.finish();
}

/// The command for the suggested run.
std::string next(const Suggestion& suggestion, const SweepOptions& options, const PointsRun& run) {
  const std::string clusters = suggestion.clusters > 0 ? std::to_string(suggestion.clusters) : "K";
  OptionSet::Replacements replaced{{"POINTS", shell_names(options.points)},
                                   {"--clusters", "-k " + clusters},
                                   {"--silhouette", ""},
                                   {"--sample", ""},
                                   {"--gap", ""},
                                   {"--warm", ""}};
  const Init usual = default_init(run.source->rows(), run.source->columns(), suggestion.clusters);
  if (name_of_start(usual) != options.init) replaced["--init"] = "--init " + shell_word(options.init);
  return run.set.shown_command("cluster", replaced) + " -o clusters.h5";
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  SweepOptions options;
  OptionSet set({.command = "sweep",
                 .summary = "k-means for many numbers of clusters, with scores that help to choose one.",
                 .usage = "POINTS -k LIST [options]",
                 .examples = {"kith sweep points.h5:/train -k 2-10",
                              "kith sweep points.h5:/train -k 2-64:log --n-init 10 -o sweep.h5",
                              "kith sweep points.h5:/train -k 2,4,8,16 --silhouette exact --gap 10 -o sweep.csv"},
                 .first = {"-k", "--columns", "--nan", "--scale", "-o"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, {".h5", ".csv"});
  const std::vector<std::int64_t> counts = parse_cluster_counts(options.clusters, "-k");  // ascending
  run.output.may_equal = may_be_written(options.checkpoint, run.target);
  check_outputs(run);
  open_inputs(options, counts, run);
  open_checkpoint(run, options.checkpoint, arguments, stored_command(run));
  if (!begin(run, needs_of(options, counts, run))) return 0;
  hold_points(run);
  advise(run);
  const Sweep sweep = compute(options, counts, run);
  const Suggestion suggestion = suggestion_of(sweep_scores(sweep));
  run.report.sweep = report_of(sweep, suggestion);
  end_computation(run);
  run.print(show(sweep));
  warn_of_results(sweep, suggestion, run.progress);
  if (suggestion.clusters > 0) {
    Terminal::instance().say(fmt::format("suggested  k = {}: {}", suggestion.clusters, suggestion.reason));
  }
  if (begin_write(run)) write(sweep, suggestion, run);
  return finish(run, next(suggestion, options, run));
}

}  // namespace kith::app
