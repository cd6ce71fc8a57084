// kith cluster: k-means of the points in a file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cluster/cluster_options.h"
#include "app/cluster/explain.h"
#include "app/cluster/label_output.h"
#include "app/cluster/variant_run.h"
#include "app/commands.h"
#include "app/run/continuation.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/points_job.h"
#include "app/run/results.h"
#include "app/run/start.h"
#include "core/kmeans/kmeans.h"

namespace kith::app {
namespace {

class ClusterJob final : public PointsJob {
 public:
  ClusterJob(OptionSet& set, ClusterOptions& options, const Arguments& words)
      : PointsJob(set, options.common), options_(options), words_(words) {
    output.endings = label_endings(options.common, options.write_obs);
    output.may_equal = may_be_written(options.checkpoint, target);
    if (!options.init_file().empty()) output.inputs.push_back(data::parse_location(options.init).file);
  }

 private:
  void open() override;
  std::int64_t bytes() const override {
    const AssignmentMemory memory{.clusters = options_.clusters,
                                  .keeps_distances = options_.save_distances,
                                  .seeds = start_.init == Init::kmeans_plus_plus,
                                  .runs = kmeans_options().runs};
    return assignment_bytes(*source, memory) + variant_bytes(options_.variant, *source, options_.clusters) +
           checkpoint_bytes(options_.checkpoint, options_.clusters, source->columns());
  }
  std::int64_t held_row_bytes() const override { return listed_row_bytes(*source, options_.clusters); }
  /// The search for the rows nearest to the centroids may make cells if few rows are far from all others.
  MemoryUse memory_use(std::int64_t spare) const override {
    const std::int64_t least = bytes() - source->rows() * held_row_bytes();
    const MemoryUse search = search_memory({.rows = source->rows(),
                                            .columns = prepared_columns(*source, common),
                                            .is_wide = data::size_of(source->held_as()) == 8,
                                            .queries = options_.clusters,
                                            .block = options_.clusters,
                                            .neighbors = 1,
                                            .threads = report.threads,
                                            .spare = spare});
    return {least, std::max(bytes(), least + search.most), "by the screens that the data allow"};
  }
  std::string needs_memory() const override {
    if (options_.explain) return "--explain needs all rows in memory";
    return start_.labels ? "--init-labels needs all rows in memory" : app::needs_memory(options_.variant);
  }
  std::vector<Work> work() const override { return variant_work(options_.variant, kmeans_options()); }
  std::int64_t result_bytes() const override {
    return label_bytes(*source, options_.save_distances) + 8 * options_.clusters * source->columns();
  }
  void compute() override;
  void show() override;
  void write() override;
  std::string next() const override;
  KMeansOptions kmeans_options() const;
  Metric metric() const { return metric_of(common); }
  std::int64_t default_clusters() const;
  void check_init() const;
  void check_clusters();
  std::string stored_command() const override;
  void report_result();
  void warn_of_limit();
  void warn_of_interruption();
  /// A result that --init resumes: it holds everything, and its centroids are those of the last iteration.
  bool can_resume() const {
    const KMeansResult& result = run_.result;
    const bool is_whole = result.iterations > 0 && std::ssize(result.runs) == kmeans_options().runs;
    return !target.empty() && !options_.writes_labels_only() && !options_.moves_labels() &&
           (result.stopped_by == "max-iterations" || (result.stopped_by == "interrupted" && is_whole));
  }

  ClusterOptions& options_;
  const Arguments& words_;  // the command line
  Start start_;
  Matrix<double> centroids_;        // of the start, if it has some
  Matrix<double> frozen_;           // of --freeze
  MatrixView<const double> given_;  // centroids_ without frozen ones
  VariantRun run_;
};

void ClusterJob::open() {
  take_metric({{"--init", options_.init_file()}, {"--freeze", options_.variant.freeze}}, {options_.points}, set,
              common);
  common.indexed = indexed_columns_of(options_.init_file(), 0);
  open_points(options_.points);
  check_label_output(common, options_.write_obs, *source);
  if (set.source("--init") == Source::none) options_.init = default_start(*source);
  report.seed = common.seed;
  start_ = open_start(options_.init, options_.init_labels, common);
  const auto frozen = open_frozen(options_.variant, *source, prepared_columns(*source, common), common);
  if (frozen) check_same_preparation(frozen->name(), common);
  centroids_ = given_centroids(start_, metric());
  frozen_ = read_frozen(frozen.get(), metric());
  options_.clusters = default_clusters();
  if (start_.given) check_init();
  check_clusters();
  if (start_.given && !options_.moves_labels()) {
    start_.continuation = find_continuation(options_.init, stored_command(), *source);
    if (start_.continuation) {
      start_.continuation->set_limit(options_.max_iterations, set.source("--max-iterations") == Source::none);
    }
  }
  options_.all_frozen = frozen_.rows() == options_.clusters;
  if (!start_.is_random()) options_.fixed_start = start_.option() + " uses no random numbers";
  given_ = beside_frozen(options_.variant, options_.init, options_.clusters, std::as_const(centroids_).view(),
                         std::as_const(frozen_).view());
  read_weights();
  open_checkpoint(options_.checkpoint, words_, stored_command());
}

/// Without -k: as many as the start has, and the frozen ones unless they are among them.
std::int64_t ClusterJob::default_clusters() const {
  if (options_.clusters > 0 || start_.clusters() == 0) return options_.clusters;
  const bool has_frozen = start_.given && begins_with(centroids_.view(), frozen_.view());
  return start_.clusters() + (has_frozen ? 0 : frozen_.rows());
}

void ClusterJob::check_init() const {
  const std::int64_t rows = start_.given->rows(), columns = prepared_columns(*source, common);
  const bool is_whole = rows + dropped_before(options_.variant, options_.init) == options_.clusters;
  const bool is_rest = frozen_.rows() + rows == options_.clusters;
  if ((!is_whole && !is_rest) || start_.given->columns() != columns) {
    const std::string rest =
        frozen_.rows() > 0 ? fmt::format(", or {} besides the frozen ones", options_.clusters - frozen_.rows()) : "";
    throw Error(
        ExitCode::usage,
        fmt::format("--init {}: expected {} centroids of {} columns{}, for -k and {}, found {} x {}; leave out "
                    "-k, or give centroids of points like these",
                    options_.init, options_.clusters, columns, rest, source->name(), rows, start_.given->columns()));
  }
  check_same_preparation(start_.given->name(), common);
}

void ClusterJob::check_clusters() {
  const std::int64_t clusters = options_.clusters;
  if (clusters == 0) set.refuse_missing("-k, the number of clusters,");
  if (frozen_.rows() > clusters) {
    throw Error(ExitCode::usage,
                fmt::format("-k {}: --freeze {} has {} centroids, which count towards K; expected at least that many",
                            clusters, options_.variant.freeze, frozen_.rows()));
  }
  if (clusters > source->rows()) {
    throw Error(ExitCode::usage, fmt::format("-k {}: {} has only {} rows; expected at most {} clusters", clusters,
                                             source->name(), source->rows(), source->rows()));
  }
  if (start_.labels) check_labels(start_, clusters - frozen_.rows(), *source);
  fit_to_rows(options_.variant, source->rows(), clusters, progress);
}

std::string ClusterJob::stored_command() const {
  std::string start = start_.option();
  std::int64_t limit = options_.max_iterations;
  if (start_.continuation && start_.continuation->start) {
    start = start_.continuation->start->options;
    limit = start_.continuation->stopped.limit;
  } else if (start_.is_random()) {
    start += fmt::format(" --n-init {} --seed {}", options_.runs, common.seed);
  }
  OptionSet::Replacements words{{"POINTS", stored_name(source->name())},
                                {"--init", start},
                                {"--max-iterations", fmt::format("--max-iterations {}", limit)},
                                {"--precision", fmt::format("--precision {}", name_of(source->value_class()))}};
  if (!options_.variant.balance) words["--min-size"] = words["--max-size"] = "";
  return set.stored_command(words);
}

KMeansOptions ClusterJob::kmeans_options() const {
  return {.clusters = given_.rows > 0 ? frozen_.rows() + given_.rows : options_.clusters,
          .init = start_.init,
          .frozen = frozen_.view(),
          .given = given_,
          .runs = start_.is_random() && !options_.all_frozen ? static_cast<int>(options_.runs) : 1,
          .max_iterations = static_cast<int>(options_.max_iterations),
          .stopped = start_.continuation ? std::optional(start_.continuation->stopped) : std::nullopt,
          .tolerance = options_.tolerance,
          .seed = common.seed,
          .metric = metric(),
          .empty = empty_rule(options_.variant),
          .keep_distances = options_.save_distances,
          .keep_medoids = options_.variant.medoids};
}

void ClusterJob::compute() {
  check_counted(options_.clusters, held, *source, common);
  if (start_.labels) {
    centroids_ = label_centroids(start_, held, metric());
    given_ = std::as_const(centroids_).view();
  }
  KMeansOptions run = kmeans_options();
  run.search_bytes = search_bytes_left();
  if (checkpoint) {
    run.keeper = &*checkpoint;
    run.from = checkpoint->next();
  }
  run_ = run_variant(held, run, options_.variant, *this);
  complete(run_.result);
  if (!run_.result.continues) start_.continuation.reset();
  report_result();
  if (run_.result.stopped_by == "max-iterations") warn_of_limit();
  if (checkpoint && checkpoint->interrupted()) warn_of_interruption();
  if (options_.explain) report.explanations = explain(run_.result, held, source->column_names(), metric());
}

void ClusterJob::report_result() {
  const KMeansResult& result = run_.result;
  note_iterations(report, result);
  const double flops = assignment_flops(held.plan.rows, held.plan.columns, options_.clusters);
  for (const RunRecord& record : result.runs) {
    report.phase("iterate").flops += flops * static_cast<double>(record.iterations);
    report.phase("assign").flops += flops;
  }
  report.clusters = cluster_report(result);
  report.method = method_of(run_, options_.variant, held.plan.rows);
}

void ClusterJob::warn_of_limit() {
  const std::string remedy =
      can_resume() ? "resume with --init " + shell_word(target)
      : options_.moves_labels()
          ? "increase --max-iterations: balanced clusters cannot be resumed, --init RESULT starts with their means"
          : "increase --max-iterations, or write a result with -o and resume it with --init RESULT";
  progress.warning(fmt::format("not converged after {}; {}", progress_of(run_.result, 1), remedy));
}

void ClusterJob::warn_of_interruption() {
  const std::string file = checkpoint->continued_by();
  progress.warning(fmt::format("interrupted after {}; {}", progress_of(run_.result, kmeans_options().runs),
                               !file.empty()  ? "continue with: kith resume " + shell_word(file)
                               : can_resume() ? "resume with --init " + shell_word(target)
                                              : "give --checkpoint FILE to continue such a run"));
}

void ClusterJob::show() {
  if (options_.explain) print(explanation_table(report.explanations, run_.result.counts));
  if (target.empty()) print(cluster_table(run_.result));
}

void ClusterJob::write() {
  const KMeansResult& result = run_.result;
  if (options_.writes_labels_only()) {
    return write_label_output(common, options_.write_obs, *source, result, output);
  }
  data::ResultFile file(target, output);
  write_head(file, {"kith-clusters", stored_command(), source->value_class(), metric()}, *source);
  const auto& continuation = start_.continuation;
  const bool has_start = continuation && continuation->start;
  file.attribute("seed", data::seed_attribute(has_start ? continuation->start->seed : common.seed));
  file.attribute("init", has_start ? continuation->start->init : start_.stored);
  file.attribute("n_init", result.runs.empty() ? options_.runs : std::ssize(result.runs));
  file.attribute("run", static_cast<std::int64_t>(result.run));
  file.attribute("inertia", result.inertia);
  file.attribute("totss", result.total_inertia);
  file.attribute("betweenss", result.total_inertia - result.inertia);
  file.attribute("iterations", result.iterations);
  file.attribute("stopped_by", result.stopped_by);
  file.attribute("stopped_value", result.stopped_value);
  file.attribute("tolerance", options_.tolerance);
  file.attribute("changed", result.changed);
  file.attribute("empty_clusters", result.empty_clusters);
  write_dropped_rows(file, common, *held.values);
  write_weighting(file, weighting);
  write_preparation(file, held.preparation);
  write_assignment(file, result);
  file.dataset("centroids", result.centroids.view());
  write_original_centroids(file, result.centroids.view(), held.preparation, metric());
  file.dataset("nearest_row", std::span<const std::int64_t>(result.nearest_row));
  write_iterations(file, continuation ? continuation->iterations : Iterations{}, result);
  if (options_.save_distances) write_distances(file, result.distances, source->value_class());
  write_variant(file, options_.variant, run_, options_.clusters);
  file.finish();
}

std::string ClusterJob::next() const {
  if (target.empty() || options_.writes_labels_only()) return "";
  const std::string kept = checkpoint ? checkpoint->continued_by() : "";
  if (!kept.empty()) return "kith resume " + shell_word(kept);
  if (can_resume()) return continuing_command(words_, target);
  return fmt::format("kith assign NEW.h5 --centroids {}", shell_word(target));
}

}  // namespace

int run_cluster(const Arguments& arguments) {
  ClusterOptions options;
  OptionSet set({.command = "cluster",
                 .summary = "k-means clustering of the points in a file (labels, centroids, counts, inertia).",
                 .usage = "POINTS -k K [options]",
                 .examples = {"kith cluster points.h5:/train -k 50 -o clusters.h5",
                              "kith cluster points.h5:/train -k 50 --n-init 10 --seed 1 -o clusters.h5",
                              "kith cluster points.h5:/train --init clusters.h5 --tolerance 0 -o better.h5",
                              "kith cluster points.h5:/train -k 10        # a table on standard output"}});
  declare(set, options);
  return set.parse(arguments) ? ClusterJob(set, options, arguments).run() : 0;
}

}  // namespace kith::app
