// kith assign: the nearest given centroid of every point in a file.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/cli/text_options.h"
#include "app/cluster/centroid_distances.h"
#include "app/cluster/label_output.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/points_job.h"
#include "app/run/results.h"
#include "core/kmeans/kmeans.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

struct AssignOptions {
  std::string points;
  std::string centroids;
  bool save_distances = false;
  CentroidDistanceOptions distances;
  std::string write_obs;
  CommonOptions common;
};

void declare(OptionSet& set, AssignOptions& options) {
  add_points(set, options.points, "the file to assign");
  set.text({.names = "--centroids",
            .value = "RESULT",
            .help = "A result of kith cluster or sweep, whose metric and preparation apply, or FILE:DATASET of any "
                    "matrix with as many columns as the points.",
            .required = "the file with the centroids",
            .input = Input::file,
            .stored = Stored::always},
           options.centroids);
  add_distance_option(set, options.save_distances, options.common, options.write_obs);
  add_centroid_distance_options(set, options.distances, output_reasons(options.common, options.write_obs));
  add_label_option(set, options.write_obs, options.common);
  add_weight_options(set, options.common);
  add_missing_options(set, options.common, false, kDroppingHelp);
  add_label_common_options(set, options.common);
  set["--metric"].refused = {[&options] { return metric_without_means(options.common); }};
  set["--seed"].no_effect = {[]() -> std::string { return "assign uses no random numbers"; }};
}

/// The columns that points need for the centroids.
struct ModelColumns {
  std::int64_t count = 0;
  std::vector<std::string> names;  // empty, or as many
};

ModelColumns columns_of_model(const data::PointSource& centroids, const std::optional<Preparation>& preparation,
                              const std::string& location) {
  const std::int64_t before = preparation ? columns_before(*preparation) : 0;
  if (before == 0) return {centroids.columns(), centroids.column_names()};
  return {before, data::StoredResult(data::parse_location(location).file).lines("columns")};
}

/// "expected 'y' as column 2 ..., found 'x'" if the names are known and differ; else empty. One list may be the
/// beginning of the other.
std::string first_difference(const AssignOptions& options, const std::vector<std::string>& names,
                             const std::vector<std::string>& expected) {
  const auto [name, other] = std::mismatch(names.begin(), names.end(), expected.begin(), expected.end());
  if (names.empty() || expected.empty() || (name == names.end() && other == expected.end())) return "";
  const auto number = name - names.begin() + 1;
  if (other == expected.end()) {
    return fmt::format("expected {} columns, as {} has, found {}, of which column {} (counted from 1) is '{}'",
                       expected.size(), options.centroids, names.size(), number, *name);
  }
  return fmt::format("expected '{}' as column {} (counted from 1) of the points, as {} has, found {}", *other, number,
                     options.centroids,
                     name == names.end() ? fmt::format("only {}", names.size()) : fmt::format("'{}'", *name));
}

/// How to choose these columns: with their names if the points have them all.
std::string choice_of(const std::vector<std::string>& expected, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 200;
  const bool all_there = !expected.empty() && std::all_of(expected.begin(), expected.end(), [&](const auto& name) {
    return std::count(names.begin(), names.end(), name) == 1 && name.find_first_of(", '\"") == name.npos;
  });
  const std::string list = fmt::format("{}", fmt::join(expected, ","));
  return all_there && list.size() < kLongest ? "choose them with --columns " + list
                                             : "choose the columns that were clustered with --columns";
}

/// The columns of a result that stores a checksum of their names, because they cannot be listed in an attribute.
void check_names_checksum(const AssignOptions& options, const data::PointSource& points) {
  if (!names_model(options.centroids)) return;
  const std::string file = data::parse_location(options.centroids).file;
  const data::StoredResult result(file);
  const std::vector<std::string> names = points.column_names();
  if (!names.empty() && !result.whole("columns_crc32") && result.text("columns").empty()) {
    Terminal::instance().say(
        fmt::format("note: {} does not name its columns, so those of {} were not compared with "
                    "them",
                    file, points.name()));
  }
  if (!lists_other_columns(result, names)) return;
  throw Error(ExitCode::data, fmt::format("{}: expected the columns that {} was computed from, in their order, found "
                                          "other names or another order; choose the columns that were clustered with "
                                          "--columns",
                                          points.name(), file));
}

void check_columns(const AssignOptions& options, const data::PointSource& points, const ModelColumns& model) {
  const std::vector<std::string> names = points.column_names();
  const std::string difference = first_difference(options, names, model.names);
  if (!difference.empty()) {
    throw Error(ExitCode::data, fmt::format("{}: {}; {}", points.name(), difference, choice_of(model.names, names)));
  }
  if (model.count == points.columns()) return check_names_checksum(options, points);
  throw Error(
      ExitCode::data,
      fmt::format("{}: expected {} columns, as {} has, found {}; choose columns of the points with --columns{}, or "
                  "give centroids of points like these",
                  options.centroids, points.columns(), points.name(), model.count,
                  points.indexed_columns() ? fmt::format(" 1-{}", model.count) : ""));
}

class AssignJob final : public PointsJob {
 public:
  AssignJob(OptionSet& set, AssignOptions& options) : PointsJob(set, options.common), options_(options) {
    output.endings = label_endings(options.common, options.write_obs);
  }

 private:
  void open() override {
    take_metric({{"--centroids", options_.centroids}}, {options_.points}, set, common);
    given = read_preparation(options_.centroids);
    centroids_ = data::open_centroids(options_.centroids, header_of(common));
    const ModelColumns model = columns_of_model(*centroids_, given, options_.centroids);
    common.like_columns = model.names;
    common.indexed = indexed_columns_of(options_.centroids, model.count);
    open_points(options_.points);
    check_label_output(common, options_.write_obs, *source);
    check_columns(options_, *source, model);
    read_weights();
    check(options_.distances, centroids_->rows(), options_.centroids);
    values_ = std::get<Matrix<double>>(data::read_all(*centroids_));
    if (metric_of(common) == Metric::cosine) normalize_centroids(values_.view(), centroids_->name());
  }

  std::int64_t bytes() const override {
    return assignment_bytes(*source, {.clusters = centroids_->rows(), .keeps_distances = options_.save_distances}) +
           centroid_distance_bytes(options_.distances, *source, *centroids_, common);
  }

  std::int64_t held_row_bytes() const override { return listed_row_bytes(*source, centroids_->rows()); }

  MemoryUse memory_use(std::int64_t /*spare*/) const override {
    return {bytes() - source->rows() * held_row_bytes(), bytes(), "by the screens that the data allow"};
  }

  std::string needs_memory() const override {
    return options_.distances.is_none() ? "" : "distances to several centroids need all rows in memory";
  }

  std::vector<Work> work() const override {
    if (!options_.distances.is_none()) return {};
    return {preparing(), {.phase = "assign", .operation = Operation::assign, .size = centroids_->rows()}};
  }

  std::int64_t result_bytes() const override { return label_bytes(*source, options_.save_distances); }

  void compute() override;

  void show() override {
    if (target.empty()) print(cluster_table(result_));
  }

  void write() override;

  std::string stored_command() const override {
    return set.stored_command({{"POINTS", stored_name(source->name())},
                               {"--precision", fmt::format("--precision {}", name_of(source->value_class()))}});
  }
  std::string next() const override {
    const bool is_whole = !target.empty() && !is_label_output(common, options_.write_obs);
    return is_whole ? fmt::format("kith info {}", shell_word(target)) : "";
  }

  AssignOptions& options_;
  std::unique_ptr<data::PointSource> centroids_;
  Matrix<double> values_;  // of centroids_
  KMeansResult result_;
};

void AssignJob::compute() {
  result_ = assign_only(*held.points, held.plan, std::as_const(values_).view(), progress);
  if (options_.save_distances) {
    result_.distances.resize(result_.labels.size());
    held.points->distances(result_.distances);
  }
  complete(result_);
  report.iterations = result_.history;
  report.inertia = result_.inertia;
  report.clusters = cluster_report(result_);
  report.phase("assign").flops = assignment_flops(held.plan.rows, held.plan.columns, values_.rows());
}

void AssignJob::write() {
  if (is_label_output(common, options_.write_obs)) {
    return write_label_output(common, options_.write_obs, *source, result_, output);
  }
  data::ResultFile file(target, output);
  write_head(file, {"kith-assignment", stored_command(), source->value_class(), metric_of(common)}, *source);
  file.attribute("centroids", stored_name(options_.centroids));
  file.attribute("inertia", result_.inertia);
  file.attribute("empty_clusters", result_.empty_clusters);
  write_dropped_rows(file, common, *held.values);
  write_weighting(file, weighting);
  write_preparation(file, held.preparation);
  write_assignment(file, result_);
  if (options_.save_distances) write_distances(file, result_.distances, source->value_class());
  if (!options_.save_distances && !options_.distances.is_none()) {
    file.attribute("distances", std::string(name_of(Unit::root)));
  }
  write_centroid_distances(file, options_.distances, held, result_.centroids.view(), *this);
  file.finish();
}

}  // namespace

int run_assign(const Arguments& arguments) {
  AssignOptions options;
  OptionSet set({.command = "assign",
                 .summary = "the nearest given centroid of every point, by the rules of kith cluster.",
                 .usage = "POINTS --centroids RESULT [options]",
                 .examples = {"kith assign new.h5 --centroids clusters.h5 -o labels.h5",
                              "kith assign new.h5:/train --centroids means.h5:/means --save-distances -o labels.h5"}});
  declare(set, options);
  return set.parse(arguments) ? AssignJob(set, options).run() : 0;
}

}  // namespace kith::app
