// kith assign: the nearest given centroid of every point in a file.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/dropped_rows.h"
#include "app/invocation.h"
#include "app/label_output.h"
#include "app/memory.h"
#include "app/results.h"
#include "app/terminal.h"
#include "core/kmeans.h"

namespace kith::app {
namespace {

struct AssignOptions {
  std::string points;
  std::string centroids;
  bool save_distances = false;
  std::string write_obs;
  CommonOptions common;
};

void declare(OptionSet& set, AssignOptions& options) {
  set.positional({.names = "POINTS", .help = "FILE:DATASET of n rows; FILE alone if it holds one matrix."},
                 options.points);
  set.text({.names = "--centroids",
            .value = "RESULT",
            .help = "A result of kith cluster, or FILE:DATASET of any matrix with as many columns as the points."},
           options.centroids);
  set.flag({.names = "--save-distances", .help = "Also write every point's distance to its centroid."},
           options.save_distances);
  add_label_option(set, options.write_obs);
  add_weight_options(set, options.common);
  add_missing_option(set, options.common);
  add_common_options(set, options.common);
}

void check_columns(const AssignOptions& options, const data::PointSource& points, const data::PointSource& centroids) {
  if (centroids.columns() != points.columns()) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected {} columns, as {} has, found {}; give the centroids of points like these",
                            options.centroids, points.columns(), points.name(), centroids.columns()));
  }
  const std::vector<std::string> names = points.column_names(), expected = centroids.column_names();
  if (names.empty() || expected.empty()) return;
  const auto [name, other] = std::mismatch(names.begin(), names.end(), expected.begin(), expected.end());
  if (name == names.end() || other == expected.end()) return;
  throw Error(
      ExitCode::data,
      fmt::format("{}: expected '{}' as column {} (counted from 1) of the points, as {} has, found '{}'; choose "
                  "the columns that were clustered with --columns",
                  points.name(), *other, name - names.begin() + 1, options.centroids, *name));
}

void warn_of_options(const OptionSet& set, const AssignOptions& options, Invocation& invocation) {
  invocation.warn_without_effect(set, "--seed", "assign draws nothing at random");
  warn_of_distances(set, options.write_obs, invocation);
  invocation.warn_without_effect(set);
}

void write(const AssignOptions& options, const data::PointSource& points, const std::optional<Weighting>& weighting,
           const data::Reading& reading, const KMeansResult& result, const data::OutputOptions& output) {
  if (is_label_output(options.common, options.write_obs)) {
    return write_label_output(options.common, options.write_obs, points, result, output);
  }
  data::ResultFile file(options.common.output, output);
  const std::string command =
      fmt::format("assign {} --centroids {} --precision {}{}{}", stored_name(points.name()),
                  stored_name(options.centroids), name_of(points.value_class()),
                  stored_input(options.common) + stored_weights(options.common) + stored_metric(options.common),
                  options.save_distances ? " --save-distances" : "");
  write_head(file, {"kith-assignment", command, points.value_class(), metric_of(options.common)}, points);
  file.attribute("centroids", stored_name(options.centroids));
  file.attribute("inertia", result.inertia);
  file.attribute("empty_clusters", result.empty_clusters);
  write_dropped_rows(file, options.common, reading);
  write_weighting(file, weighting);
  write_assignment(file, result);
  if (options.save_distances) write_distances(file, result.distances, points.value_class());
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
  Invocation invocation("assign", options.common);
  const std::string& target = options.common.output;
  data::OutputOptions output =
      output_options(options.common, {options.points, options.common.weights, options.centroids});
  output.labels = true;
  if (!target.empty()) data::check_output(target, output);
  const auto points = open_input(options.points, invocation);
  check_label_output(options.common, options.write_obs, *points);
  invocation.report.points = describe(*points);
  const auto given = data::open_centroids(options.centroids);
  check_columns(options, *points, *given);
  const auto weighting = read_weighting(options.common, *points);
  if (weighting) invocation.report.weights = describe(*weighting);
  require_memory(points_bytes(*points) + assignment_bytes(*points, given->rows()) + weighting_bytes(weighting, *points),
                 points->name(), options.common.memory);

  auto centroids = std::get<Matrix<double>>(data::read_all(*given));
  if (metric_of(options.common) == Metric::cosine) unit_centroids(centroids.view(), given->name());
  HeldPoints held = hold_points(
      *points, invocation, [&] { warn_of_options(set, options, invocation); }, weighting);
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
  invocation.report.phase("assign").flops = assignment_flops(*points, centroids.rows());
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, *points, weighting, *held.values, result, output);
    invocation.wrote(target);
  } else if (!options.common.json) {
    print_out(cluster_table(result));
  }
  invocation.close(
      target.empty() || is_label_output(options.common, options.write_obs) ? "" : fmt::format("kith info {}", target));
  return 0;
}

}  // namespace kith::app
