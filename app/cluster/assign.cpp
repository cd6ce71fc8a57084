// kith assign: the nearest given centroid of every point in a file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/common_options.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/cluster/label_output.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/follow.h"
#include "app/run/held_points.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/processes.h"
#include "app/run/results.h"
#include "core/kmeans/kmeans.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/points/weights.h"
#include "core/preparation/group_means.h"
#include "data/file_names.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

struct CentroidDistanceOptions {
  std::int64_t top = 0;  // nearest centroids of each row; 0: none
  bool all = false;
  bool is_none() const { return top == 0 && !all; }
};

constexpr std::int64_t kCentroidDistanceBytes = std::int64_t{64} << 20;  // of distances as float64 at a time

std::int64_t usual_block(std::int64_t centroids, std::int64_t columns) {
  return std::max<std::int64_t>(1, kCentroidDistanceBytes / (8 * std::max(centroids, columns)));
}

/// Squared distances of rows from `first` on, as they are stored.
template <class T>
void write_rows(data::ResultFile& file, const char* name, std::int64_t first, MatrixView<const double> squared,
                const data::Reading& reading) {
  const Matrix<T> roots = convert_distances<T>(squared, Unit::root, first);
  const Matrix<T> all = in_file_rows<T>(roots.view(), first, std::numeric_limits<T>::quiet_NaN(), reading);
  file.write_rows<T>(name, first_file_row(first, reading), all.view());
}

template <class T>
void write_top(data::ResultFile& file, std::int64_t top, const HeldPoints& held, const Points& centroids, Job& job) {
  const data::Reading& reading = *held.values;
  file.create_matrix<std::int32_t>("nearest_centroids", reading.source().rows(), top);
  file.create_matrix<T>("nearest_distances", reading.source().rows(), top);
  nearest_neighbors(
      centroids, reading.values(), {.neighbors = top, .block_queries = job.common.block_rows},
      [&](std::int64_t first, const NeighborLists& lists) {
        Matrix<std::int32_t> index(lists.index.rows(), lists.index.columns());
        std::copy(lists.index.data(), lists.index.data() + lists.index.size(), index.data());
        const auto all = in_file_rows<std::int32_t>(index.view(), first, -1, reading);
        file.write_rows<std::int32_t>("nearest_centroids", first_file_row(first, reading), all.view());
        write_rows<T>(file, "nearest_distances", first, lists.distance.view(), reading);
      },
      job.progress);
}

template <class T>
void write_all(data::ResultFile& file, const HeldPoints& held, const Points& centroids, Job& job) {
  const data::Reading& reading = *held.values;
  const PointsView values = reading.values();
  const std::int64_t rows = rows_of(values), columns = columns_of(values), chosen = job.common.block_rows;
  file.create_matrix<T>("all_distances", reading.source().rows(), centroids.rows());
  const std::int64_t block =
      std::clamp<std::int64_t>(chosen > 0 ? chosen : usual_block(centroids.rows(), columns), 1, rows);
  Matrix<double> queries(block, columns), out(block, centroids.rows());
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t here = std::min(block, rows - first);
    copy_queries(values, first, queries.view().middle(0, here));
    centroids.all_distances({queries.view().middle(0, here)}, out.view().middle(0, here));
    write_rows<T>(file, "all_distances", first, out.view().middle(0, here), reading);
  }
}

/// unwritten: reasons why the output has no place for them.
void add_centroid_distance_options(OptionSet& set, CentroidDistanceOptions& options,
                                   const std::vector<Reason>& unwritten) {
  set.integer({.names = "--top",
               .value = "M",
               .help = "Also write the M nearest centroids of every point and their distances.",
               .shown_default = "none",
               .stored = {Stored::if_changed, position::kExtra},
               .no_effect = unwritten},
              {1, std::numeric_limits<std::int32_t>::max()}, options.top);
  set.flag({.names = "--all-distances",
            .help = "Also write every point's distance to every centroid.",
            .stored = {Stored::if_changed, position::kExtra},
            .no_effect = unwritten},
           options.all);
}

/// Throws Error(usage) if --top is larger than the number of centroids.
void check(const CentroidDistanceOptions& options, std::int64_t centroids, const std::string& name) {
  if (options.top <= centroids) return;
  throw Error(ExitCode::usage, fmt::format("--top {}: {} has {} centroids; expected at most {}", options.top, name,
                                           centroids, centroids));
}

/// Host bytes for computing them.
std::int64_t centroid_distance_bytes(const CentroidDistanceOptions& options, const data::PointSource& points,
                                     MatrixView<const double> centroids, const CommonOptions& common) {
  const std::int64_t k = centroids.rows, columns = centroids.columns, chosen = common.block_rows;
  std::int64_t bytes = 0;
  if (options.top > 0) {
    const std::int64_t searched = bytes_per_query(options.top, columns);
    bytes = block_bytes({points.rows(), searched + 24 * options.top, chosen, kQueryBlockBytes / searched});
  }
  if (options.all) {  // distances, twice more as written, and the rows as float64
    const std::int64_t of_row = 24 * k + 8 * columns;
    bytes = std::max(bytes, block_bytes({points.rows(), of_row, chosen, usual_block(k, columns)}));
  }
  return bytes;
}

/// Prints the size of these datasets and writes them block by block: /nearest_centroids (n, M) with /nearest_distances
/// (n, M), and /all_distances (n, k), by the definition. Dropped rows have -1 and NaN. centroids: (k, d)
void write_centroid_distances(data::ResultFile& file, const CentroidDistanceOptions& options, const HeldPoints& held,
                              MatrixView<const double> centroids, Job& job) {
  if (options.is_none()) return;
  const data::PointSource& source = held.values->source();
  const bool narrow = source.value_class() == ValueClass::f32;
  const std::int64_t size = narrow ? sizeof(float) : sizeof(double);
  std::int64_t of_row = 0;
  if (options.top > 0) of_row += options.top * (size + static_cast<std::int64_t>(sizeof(std::int32_t)));
  if (options.all) of_row += centroids.rows * size;
  const std::int64_t bytes = checked_product(source.rows(), of_row, "distances");
  Terminal::instance().say(fmt::format("distances to centroids: {} in {}", show_bytes(bytes), job.common.output));
  const auto points = held.backend->hold({centroids, 0});
  points->prepare(make_plan(*points));
  if (options.top > 0) {
    narrow ? write_top<float>(file, options.top, held, *points, job)
           : write_top<double>(file, options.top, held, *points, job);
  }
  if (options.all) {
    narrow ? write_all<float>(file, held, *points, job) : write_all<double>(file, held, *points, job);
  }
}

struct AssignOptions {
  std::string points;
  std::string centroids;
  bool save_distances = false;
  double max_distance = std::numeric_limits<double>::quiet_NaN();  // NaN: none
  CentroidDistanceOptions distances;
  std::string labels;  // a file; empty: none
  std::string write_obs;
  bool follow = false;
  CommonOptions common;

  bool has_limit() const { return !std::isnan(max_distance); }
  bool has_model = true;  // once the result is open: whether it describes its columns
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
  set.number({.names = "--max-distance",
              .value = "R",
              .help = "Rows that are farther than this from every centroid get the label -1 and count in no cluster. "
                      "For cosine, R is sqrt(2 - 2 cos): 0.447 is a cosine of 0.9.",
              .section = Section::output,
              .shown_default = "none",
              .stored = {Stored::if_changed, position::kExtra}},
             options.max_distance);
  add_follow_option(
      set, options.follow, "POINTS", options.points,
      {"--labels", "--append", "--write-obs", "--top", "--all-distances", "--weights", "--weight-column"});
  add_distance_option(set, options.save_distances, options.common, options.labels, options.write_obs);
  for (Reason& reason : set["--save-distances"].no_effect) {
    reason = [&options, reason] { return options.follow ? "" : reason(); };
  }
  add_centroid_distance_options(set, options.distances, output_reasons(options.common, options.write_obs));
  add_label_option(set, options.labels, options.write_obs, options.common);
  add_weight_options(set, options.common);
  add_missing_options(set, options.common, false, kDroppingHelp);
  set.choice({.names = "--unknown",
              .value = "HOW",
              .help = "A row with a value that RESULT does not know (a new category, a word in place of a number, a "
                      "missing value that it does not replace): ignore gives it the label -1, error stops.",
              .stored = {Stored::if_changed, position::kMissing},
              .no_effect = {when([&options] { return !options.has_model; },
                                 "the file of --centroids does not describe the columns of a table")}},
             {"ignore", "error"}, options.common.unknown);
  set["--nan"].shown_default = "drop if RESULT describes its columns, else error";
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
  const std::string difference = difference_of_columns(names, model.names, options.centroids);
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

/// What the points need so that they are read as those of the result were: rows that it does not know have no label.
ExpectedColumns expected_columns(AssignOptions& options, const ModelColumns& model, const PointsRun& run) {
  ExpectedColumns expected{model.names, indexed_columns_of(options.centroids, model.count),
                           table_model(options.centroids)};
  options.has_model = expected.model != nullptr;
  if (!options.has_model) return expected;
  CommonOptions& common = options.common;
  take_table_options(*expected.model, "--centroids " + options.centroids, run.set, common);
  const bool may_drop = run.set.source("--nan") == Source::none || common.nan == "drop";
  expected.keep_unknown = may_drop && common.unknown == "ignore";
  if (expected.keep_unknown) common.nan = "drop";
  return expected;
}

/// What points are assigned to.
struct Centroids {
  Matrix<double> values;  // (k, d)
  ModelColumns columns;   // that points need
  ExpectedColumns expected;
};

Centroids open_model(AssignOptions& options, PointsRun& run) {
  take_metric({{"--centroids", options.centroids}}, {options.follow ? "" : options.points}, run.set, options.common);
  run.given = read_preparation(options.centroids);
  const auto source = data::open_centroids(options.centroids, header_of(run.common));
  Centroids centroids{{}, columns_of_model(*source, run.given, options.centroids), {}};
  centroids.expected = expected_columns(options, centroids.columns, run);
  centroids.values = std::get<Matrix<double>>(data::read_all(*source));
  if (takes_directions(metric_of(run.common))) normalize_centroids(centroids.values.view(), source->name());
  return centroids;
}

/// Opens the centroids and the points, and refuses what can be known to be wrong before values are read.
Centroids open_inputs(AssignOptions& options, PointsRun& run) {
  Centroids centroids = open_model(options, run);
  open_points(run, options.points, centroids.expected);
  check_label_output(run, options.write_obs);
  check_columns(options, *run.source, centroids.columns);
  read_weights(run);
  check(options.distances, centroids.values.rows(), options.centroids);
  return centroids;
}

/// --follow: the nearest centroid of a line is its nearest neighbour among the centroids.
int follow_points(AssignOptions& options, PointsRun& run) {
  const Centroids centroids = open_model(options, run);
  const MatrixView<const double> values = centroids.values.view();
  if (!begin(run, {.writes_result = false, .bytes = follow_bytes(1, values.columns, run.common)})) return 0;
  const std::unique_ptr<Backend> backend = choose_backend(run);
  const auto held = backend->hold({values, 0});
  held->prepare(make_plan(*held));
  const bool narrow = run.common.precision == "f32";
  const double limit = options.has_limit() ? limit_of_radius(options.max_distance, metric_of(run.common)) : INFINITY;
  FollowRequest request{.points = *held,
                        .search = {.neighbors = 1},
                        .read = input_options(run.common, run.given ? &*run.given : nullptr, centroids.expected),
                        .of = options.centroids,
                        .columns = centroids.columns.count,
                        .names = centroids.columns.names,
                        .preparation = run.given ? &*run.given : nullptr,
                        .answer = {}};
  request.answer = [&](const NeighborLists& nearest, std::int64_t i, std::string& line) {
    const double squared = i < 0 ? std::numeric_limits<double>::quiet_NaN() : nearest.distance(i, 0);
    line += std::to_string(squared <= limit ? nearest.index(i, 0) : -1);
    if (!options.save_distances) return;
    const double root = std::sqrt(squared);
    line += narrow ? fmt::format("\t{}", static_cast<float>(root)) : fmt::format("\t{}", root);
  };
  follow(std::move(request), run);
  return finish(run, "");
}

Needs needs_of(const AssignOptions& options, MatrixView<const double> centroids, const PointsRun& run) {
  const data::PointSource& points = *run.source;
  const bool only_assigns = options.distances.is_none();
  Needs needs{
      .stored_command = run.set.stored_command(stored_words("POINTS", points, points.value_class(), run.common)),
      .writes_result = !run.target.empty(),
      .held_row_bytes = listed_row_bytes(points, centroids.rows)};
  needs.bytes = assignment_bytes(points, {.clusters = centroids.rows,
                                          .keeps_distances = options.save_distances || options.has_limit(),
                                          .threads = planned_threads(run.common)}) +
                centroid_distance_bytes(options.distances, points, centroids, run.common);
  needs.use = {needs.bytes - points.rows() * needs.held_row_bytes, needs.bytes, "by the screens that the data allow"};
  if (!only_assigns) needs.all_rows = "distances to several centroids need all rows in memory";
  needs.work = {preparing(), {.phase = "assign", .operation = Operation::assign, .size = centroids.rows}};
  needs.is_all_work = only_assigns;
  needs.result_bytes = label_bytes(points, options.save_distances);
  return needs;
}

/// "0.447 (a cosine of 0.9)"
std::string shown_limit(double distance, Metric metric) {
  const std::string cosine = takes_directions(metric)
                                 ? fmt::format(" (a {} of {:.6g})", name_of(metric), 1.0 - distance * distance / 2.0)
                                 : "";
  return fmt::format("{:.6g}{}", distance, cosine);
}

/// Takes the rows beyond --max-distance out of their clusters, whose counts and inertia are then those of the others.
/// Returns their number, and says it.
std::int64_t leave_out_far_rows(KMeansResult& result, const AssignOptions& options, PointsRun& run) {
  const double limit = limit_of_radius(options.max_distance, metric_of(run.common));
  const std::size_t rows = result.labels.size();
  std::int64_t far = 0, labelled = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (result.labels[i] < 0) continue;
    ++labelled;
    if (result.distances[i] <= limit) continue;
    result.labels[i] = -1;
    ++far;
  }
  if (far == 0) return 0;
  run.progress.warning(fmt::format("{} of {} rows ({:.3g} %) {} farther than {} from every centroid; their label is -1",
                                   far, labelled, 100.0 * static_cast<double>(far) / static_cast<double>(labelled),
                                   far == 1 ? "is" : "are", shown_limit(options.max_distance, metric_of(run.common))));
  const Weights weights = run.weighting ? checked_weights(run.weighting->of_rows, run.weighting->name)
                                        : equal_weights(static_cast<std::int64_t>(rows));
  const RowWeights row_weights{weights.given() ? weights.rows.data() : nullptr, weights.integral};
  // The sums that the assignment has are those of all rows.
  ColumnSums inertia({limit}, weights, result.counts.size()), total({1.0}, weights, result.counts.size());
  std::fill(result.counts.begin(), result.counts.end(), 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const RowWeight weight = row_weights.of(static_cast<std::int64_t>(i));
    if (result.labels[i] < 0 || weight.factor == 0.0 || weight.copies == 0) continue;
    const auto label = static_cast<std::size_t>(result.labels[i]);
    ++result.counts[label];
    inertia.add(0, result.distances[i], weight, label);
    total.add(0, 1.0, weight, label);
  }
  result.inertia = inertia.total(0);
  for (std::size_t c = 0; c < result.counts.size(); ++c) {
    result.inertia_per_cluster[c] = inertia.sum(0, c);
    if (!result.weights.empty()) result.weights[c] = total.sum(0, c);
  }
  result.empty_clusters = std::count(result.counts.begin(), result.counts.end(), 0);
  result.history.back().inertia = result.inertia;
  return far;
}

/// Labels of the points, and how many are beyond --max-distance.
struct Assigned {
  KMeansResult result;
  std::int64_t far_rows = 0;
};

/// Assigns the points that are held, and reports the result.
Assigned assign(const AssignOptions& options, MatrixView<const double> centroids, PointsRun& run) {
  const HeldPoints& held = run.held;
  Assigned found{assign_only(*held.points, held.plan, centroids, run.progress)};
  KMeansResult& result = found.result;
  if (options.save_distances || options.has_limit()) {
    result.distances.resize(result.labels.size());
    held.points->distances(result.distances);
  }
  complete(result, run);
  if (options.has_limit()) found.far_rows = leave_out_far_rows(result, options, run);
  if (!options.save_distances) result.distances.clear();
  run.report.iterations = result.history;
  run.report.inertia = result.inertia;
  run.report.clusters = cluster_report(result);
  run.report.phase("assign").flops = assignment_flops(held.plan.rows, held.plan.columns, centroids.rows);
  return found;
}

/// The result of points none of which the model knows.
Assigned without_labels(const AssignOptions& options, MatrixView<const double> centroids, const data::AllDropped& error,
                        PointsRun& run) {
  if (!options.has_model || !options.distances.is_none() || !processes().is_alone()) throw error;
  for (const std::string& remark : run.source->remarks()) {
    run.progress.warning(fmt::format("{}: {}", run.source->name(), remark));
  }
  run.progress.warning(
      fmt::format("{}: no row has a label, since each lacks a value that the model needs", run.source->name()));
  const auto clusters = static_cast<std::size_t>(centroids.rows);
  Assigned found;
  KMeansResult& result = found.result;
  result.labels.resize(static_cast<std::size_t>(run.source->rows()), -1);
  result.centroids = Matrix<double>(centroids.rows, centroids.columns);
  std::copy(centroids.data, centroids.data + centroids.size(), result.centroids.data());
  result.counts.resize(clusters, 0);
  result.inertia_per_cluster.resize(clusters, 0.0);
  result.empty_clusters = centroids.rows;
  if (options.save_distances) {
    result.distances.resize(result.labels.size(), std::numeric_limits<double>::quiet_NaN());
  }
  if (run.given) run.held.preparation = std::move(*run.given);
  run.report.inertia = 0.0;
  run.report.clusters = cluster_report(result);
  return found;
}

void write(const Assigned& found, const AssignOptions& options, PointsRun& run) {
  const KMeansResult& result = found.result;
  if (is_label_output(run.common, options.write_obs)) {
    return write_label_output(run.common, options.write_obs, *run.source, result, run.output);
  }
  data::ResultFile file(run.target, run.output);
  const ValueClass value_class = run.source->value_class();
  write_head(file, {"kith-assignment", run.needs.stored_command, value_class, metric_of(run.common)}, *run.source);
  file.attribute("centroids", stored_name(options.centroids));
  file.attribute("inertia", result.inertia);
  file.attribute("empty_clusters", result.empty_clusters);
  if (options.has_limit()) {
    file.attribute("max_distance", options.max_distance);
    file.attribute("rows_beyond", found.far_rows);
  }
  run.held.values ? write_dropped_rows(file, run.common, *run.held.values)
                  : file.attribute("dropped_rows", run.source->rows());
  write_weighting(file, run.weighting);
  write_preparation(file, run.held.preparation);
  if (const auto model = table_model(options.centroids)) data::write_model(file, *model);
  write_assignment(file, result);
  if (options.save_distances) write_distances(file, result.distances, value_class);
  if (!options.save_distances && !options.distances.is_none()) {
    file.attribute("distances", std::string(name_of(Unit::root)));
  }
  write_centroid_distances(file, options.distances, run.held, result.centroids.view(), run);
  file.finish();
}

}  // namespace

int run_assign(const Arguments& arguments) {
  AssignOptions options;
  OptionSet set({.command = "assign",
                 .summary = "the nearest given centroid of every point, by the rules of kith cluster.",
                 .usage = "POINTS --centroids RESULT [options]",
                 .examples = {"kith assign new.h5 --centroids clusters.h5 -o labels.h5",
                              "kith assign new.h5:/train --centroids means.h5:/means --save-distances -o labels.h5",
                              "generate-rows | kith assign - --centroids clusters.h5 --follow     # a label a line"},
                 .first = {"--centroids", "-o", "--append", "--columns", "--nan"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, label_endings(options.common, options.write_obs));
  check_outputs(run, {label_side_output(options.labels)});
  if (options.has_limit()) limit_of_radius(options.max_distance, Metric::euclidean);  // which refuses it if it is none
  if (options.follow) return follow_points(options, run);
  Centroids opened = open_inputs(options, run);
  const Matrix<double>& centroids = opened.values;
  Needs needs = needs_of(options, centroids.view(), run);
  if (const FinishedLabels finished = finished_labels(run, needs.stored_command); finished.are_all) {
    return 0;
  } else if (!finished.files.empty()) {
    data::leave_out(options.points, finished.files);
    run.inputs.first = open_input(options.points, run.common, run.given ? &*run.given : nullptr, opened.expected);
    run.source = run.inputs.first.get();
    const std::string stored_command = std::exchange(needs, needs_of(options, centroids.view(), run)).stored_command;
    needs.stored_command = stored_command;
  }
  if (!begin(run, std::move(needs))) return 0;
  begin_label_folders(run);
  const Assigned found = [&] {
    try {
      hold_points(run);
    } catch (const data::AllDropped& error) {
      return without_labels(options, centroids.view(), error, run);
    }
    advise(run);
    return assign(options, centroids.view(), run);
  }();
  end_computation(run);
  if (run.target.empty()) run.print(cluster_table(found.result));
  begin_write(run);
  write_with_labels(run, found.result, [&] { write(found, options, run); });
  const bool is_whole = !run.target.empty() && !is_label_output(run.common, options.write_obs);
  return finish(run, is_whole ? fmt::format("kith info {}", shell_word(run.target)) : "");
}

}  // namespace kith::app
