// kith assign: the nearest given centroid of every point in a file.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/cluster/centroid_distances.h"
#include "app/cluster/label_output.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "app/run/results.h"
#include "core/kmeans.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

struct AssignOptions {
  std::string points;
  std::string centroids;
  bool save_distances = false;
  CentroidDistances distances;
  std::string write_obs;
  CommonOptions common;
};

void declare(OptionSet& set, AssignOptions& options) {
  set.positional({.names = "POINTS", .help = "FILE:DATASET of n rows; FILE alone if it holds one matrix."},
                 options.points);
  set.text({.names = "--centroids",
            .value = "RESULT",
            .help = "A result of kith cluster or sweep, whose metric and preparation are taken, or FILE:DATASET of any "
                    "matrix with as many columns as the points."},
           options.centroids);
  set.flag({.names = "--save-distances", .help = "Also write every point's distance to its centroid."},
           options.save_distances);
  add_centroid_distance_options(set, options.distances);
  add_label_option(set, options.write_obs);
  add_weight_options(set, options.common);
  add_missing_option(set, options.common);
  add_common_options(set, options.common, kLabelOutputHelp);
}

/// The columns of the points that the centroids are of.
struct ModelColumns {
  std::int64_t count = 0;
  std::vector<std::string> names;  // none, or as many
};

ModelColumns columns_of_model(const data::PointSource& centroids, const std::optional<Preparation>& preparation,
                              const std::string& location) {
  const std::int64_t before = preparation ? columns_before(*preparation) : 0;
  if (before == 0) return {centroids.columns(), centroids.column_names()};
  return {before, data::StoredResult(data::parse_location(location).file).lines("columns")};
}

/// " 'y' as column 2 (counted from 1), as clusters.h5 has, found 'x'", where the names are known and differ.
std::string first_difference(const AssignOptions& options, const std::vector<std::string>& names,
                             const std::vector<std::string>& expected) {
  const auto [name, other] = std::mismatch(names.begin(), names.end(), expected.begin(), expected.end());
  if (names.empty() || expected.empty() || (name == names.end() && other == expected.end())) return "";
  const auto show = [](auto place, auto end) { return place == end ? "no column" : fmt::format("'{}'", *place); };
  return fmt::format("expected {} as column {} (counted from 1) of the points, as {} has, found {}",
                     show(other, expected.end()), name - names.begin() + 1, options.centroids, show(name, names.end()));
}

/// The option that chooses these columns, where they are all there.
std::string choice_of(const std::vector<std::string>& expected, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 200;
  const bool all_there = !expected.empty() && std::all_of(expected.begin(), expected.end(), [&](const auto& name) {
    return std::count(names.begin(), names.end(), name) == 1 && name.find_first_of(", '\"") == name.npos;
  });
  const std::string list = fmt::format("{}", fmt::join(expected, ","));
  return all_there && list.size() < kLongest ? "choose them with --columns " + list
                                             : "choose the columns that were clustered with --columns";
}

void check_columns(const AssignOptions& options, const data::PointSource& points, const ModelColumns& model) {
  const std::vector<std::string> names = points.column_names();
  const std::string difference = first_difference(options, names, model.names);
  if (!difference.empty()) {
    throw Error(ExitCode::data, fmt::format("{}: {}; {}", points.name(), difference, choice_of(model.names, names)));
  }
  if (model.count == points.columns()) return;
  throw Error(
      ExitCode::data,
      fmt::format("{}: expected {} columns, as {} has, found {}; choose columns of the points with --columns, or "
                  "give the centroids of points like these",
                  options.centroids, points.columns(), points.name(), model.count));
}

void warn_of_options(const OptionSet& set, const AssignOptions& options, Invocation& invocation) {
  invocation.warn_without_effect(set, "--seed", "assign draws nothing at random");
  warn_of_distances(set, options.write_obs, invocation);
  warn_of_centroid_distances(set, is_label_output(options.common, options.write_obs), invocation);
  invocation.warn_of_text_options(set, {options.points});
  invocation.warn_without_effect(set);
}

/// What the stored command says of the distances that are written.
std::string stored_distances(const AssignOptions& options) {
  std::string command = options.save_distances ? " --save-distances" : "";
  if (options.distances.top > 0) command += fmt::format(" --top {}", options.distances.top);
  return command + (options.distances.all ? " --all-distances" : "");
}

void write(const AssignOptions& options, const data::PointSource& points, const std::optional<Weighting>& weighting,
           const HeldPoints& held, const KMeansResult& result, const data::OutputOptions& output,
           Invocation& invocation) {
  if (is_label_output(options.common, options.write_obs)) {
    return write_label_output(options.common, options.write_obs, points, result, output);
  }
  data::ResultFile file(options.common.output, output);
  const std::string command =
      fmt::format("assign {} --centroids {} --precision {}{}{}", stored_name(points.name()),
                  stored_name(options.centroids), name_of(points.value_class()),
                  stored_input(options.common) + stored_weights(options.common) + stored_metric(options.common),
                  stored_distances(options));
  write_head(file, {"kith-assignment", command, points.value_class(), metric_of(options.common)}, points);
  file.attribute("centroids", stored_name(options.centroids));
  file.attribute("inertia", result.inertia);
  file.attribute("empty_clusters", result.empty_clusters);
  write_dropped_rows(file, options.common, *held.values);
  write_weighting(file, weighting);
  write_preparation(file, held.preparation);
  write_assignment(file, result);
  if (options.save_distances) write_distances(file, result.distances, points.value_class());
  if (!options.save_distances && !options.distances.is_none()) {
    file.attribute("distances", std::string(name_of(Unit::root)));
  }
  write_centroid_distances(file, options.distances, held, result.centroids.view(), invocation);
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
  if (!set.parse(arguments)) return 0;
  if (options.points.empty()) set.refuse_missing("POINTS, the file to assign,");
  if (options.centroids.empty()) set.refuse_missing("--centroids");
  refuse_metrics_without_means(options.common);
  Invocation invocation("assign", options.common);
  const std::string& target = options.common.output;
  data::OutputOptions output = output_options(options.common, {options.points, options.centroids});
  output.endings = label_endings(options.write_obs);
  if (!target.empty()) data::check_output(target, output);
  take_metric({{"--centroids", options.centroids}}, set, options.common);
  std::optional<Preparation> preparation = read_preparation(options.centroids);
  const Preparation* given = preparation ? &*preparation : nullptr;
  const auto points = open_input(options.points, invocation, given);
  check_label_output(options.common, options.write_obs, *points);
  invocation.report.points = describe(*points);
  const auto source = data::open_centroids(options.centroids);
  check_columns(options, *points, columns_of_model(*source, preparation, options.centroids));
  const auto weighting = read_weighting(options.common, *points);
  if (weighting) invocation.report.weights = describe(*weighting);
  check(options.distances, source->rows(), options.centroids);
  require_memory(points_bytes(*points) + assignment_bytes(*points, source->rows()) +
                     weighting_bytes(weighting, *points) +
                     centroid_distance_bytes(options.distances, *points, *source, options.common),
                 points->name(), options.common.memory);

  auto centroids = std::get<Matrix<double>>(data::read_all(*source));
  if (metric_of(options.common) == Metric::cosine) normalize_centroids(centroids.view(), source->name());
  HeldPoints held = hold_points(
      *points, invocation, [&] { warn_of_options(set, options, invocation); }, weighting, given);
  if (preparation) held.preparation = std::move(*preparation);
  KMeansResult result = assign_only(*held.points, held.plan, centroids.view(), invocation.progress);
  if (options.save_distances) {
    result.distances.resize(result.labels.size());
    held.points->distances(result.distances);
  }
  if (held.weighed) held.weighed->label_absent_rows(result, *held.backend);
  restore_rows(result, *held.values);
  note_device_memory(held, invocation);
  invocation.report.iterations = result.history;
  invocation.report.inertia = result.inertia;
  invocation.report.clusters = cluster_report(result);
  invocation.report.phase("assign").flops = assignment_flops(held.rows(), centroids.rows());
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, *points, weighting, held, result, output, invocation);
    invocation.wrote(target);
  } else if (!options.common.json) {
    print_out(cluster_table(result));
  }
  invocation.close(target.empty() || is_label_output(options.common, options.write_obs)
                       ? ""
                       : fmt::format("kith info {}", shell_word(target)));
  return 0;
}

}  // namespace kith::app
