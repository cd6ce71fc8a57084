// kith dbscan: clusters of points that have many others within a radius, and noise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/cli/shell_word.h"
#include "app/cluster/label_output.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/file_metric.h"
#include "app/run/memory.h"
#include "app/run/points_job.h"
#include "app/run/preparation.h"
#include "app/run/results.h"
#include "core/neighbors/dbscan.h"
#include "core/neighbors/neighbors.h"

namespace kith::app {
namespace {

constexpr std::int64_t kSampleRows = 10'000;  // at most, whose neighbours suggest a radius

struct DbscanJobOptions {
  std::string points;
  double radius = std::numeric_limits<double>::quiet_NaN();  // NaN: not given
  std::int64_t min_points = 5;
  std::string write_obs;
  CommonOptions common;

  bool suggests() const { return std::isnan(radius); }
  Metric metric() const { return metric_of(common); }
};

void declare(OptionSet& set, DbscanJobOptions& options) {
  add_points(set, options.points, "the file to cluster");
  set.number({.names = "--radius",
              .value = "R",
              .help = "Points within this distance of each other are neighbours, R included. Without it, kith prints "
                      "how far neighbours are and suggests a radius.",
              .shown_default = "none",
              .stored = Stored::always},
             options.radius);
  set.integer({.names = "--min-points",
               .value = "N",
               .help = "Number of points within the radius, the point itself included, that make a core point.",
               .stored = Stored::always},
              {1, std::numeric_limits<std::int64_t>::max()}, options.min_points);
  add_label_option(set, options.write_obs, options.common);
  add_missing_options(set, options.common, true, kFillingHelp);
  add_preparation_options(set, options.common);
  add_label_common_options(set, options.common);
  set["--memory"].help = "Maximum memory of the run, as in 4GB or 512MiB.";
  set["--metric"].refused = {when([&options] { return options.metric() == Metric::inner_product; },
                                  "--metric inner-product: expected a distance, so that a point is near itself: "
                                  "euclidean, cosine, manhattan or chebyshev")};
  set["--output"].refused.push_back(
      when([&options] { return options.suggests() && !options.common.output.empty(); },
           "--output needs --radius R; leave it out for a suggestion of a radius, which is printed"));
  set["--seed"].no_effect = {[]() -> std::string { return "dbscan uses no random numbers"; }};
}

class DbscanJob final : public PointsJob {
 public:
  DbscanJob(OptionSet& set, DbscanJobOptions& options) : PointsJob(set, options.common), options_(options) {
    output.endings = label_endings(options.common, options.write_obs);
  }

 private:
  void open() override {
    take_file_metric({options_.points}, set, common);
    if (!options_.suggests()) limit_of_radius(options_.radius, options_.metric());
    open_points(options_.points);
    check_label_output(common, options_.write_obs, *source);
    if (options_.suggests()) check_min_points(source->rows());
  }

  std::int64_t bytes() const override {
    constexpr std::int64_t kRowBytes = 48;     // label, component, number of neighbours, border
    constexpr std::int64_t kListedBytes = 40;  // of a neighbour in a block
    return row_state_bytes(*source) + checked_product(source->rows(), kRowBytes, "labels") +
           RadiusOptions().capacity * kListedBytes;
  }
  std::int64_t result_bytes() const override { return label_bytes(*source, false); }

  void compute() override {
    if (options_.suggests()) return suggest();
    result_ = dbscan(*held.points, held.values->values(),
                     {.limit = limit_of_radius(options_.radius, options_.metric()),
                      .measure = measure_of(options_.metric()),
                      .min_points = options_.min_points,
                      .block_queries = common.block_rows},
                     progress);
    report.density = DensityReport{std::ssize(result_.counts), result_.core,
                                   std::ssize(result_.labels) - result_.core - result_.noise, result_.noise};
    labels_.labels = std::move(result_.labels);
    labels_.counts = result_.counts;
    restore_rows(labels_, *held.values);
  }

  void show() override {
    if (!suggestion_.empty()) print(suggestion_);
    if (target.empty() && !options_.suggests()) print(cluster_sizes());
  }
  void write() override;
  std::string stored_command() const override {
    return set.stored_command({{"POINTS", stored_name(source->name())},
                               {"--precision", fmt::format("--precision {}", name_of(source->value_class()))}});
  }
  std::string next() const override {
    if (radius_ > 0.0) return set.shown_command("dbscan", {{"--radius", fmt::format("--radius {:.4g}", radius_)}});
    const bool is_whole = !target.empty() && !is_label_output(common, options_.write_obs);
    return is_whole ? fmt::format("kith info {}", shell_word(target)) : "";
  }

  void check_min_points(std::int64_t rows) const {
    if (options_.min_points <= rows) return;
    throw Error(ExitCode::usage, fmt::format("--min-points {}: expected at most the {} rows of {}", options_.min_points,
                                             rows, source->name()));
  }
  /// Prints the distances of a sample of the points to their neighbours.
  void suggest();
  /// A line for each cluster.
  std::string cluster_sizes() const;

  DbscanJobOptions& options_;
  DbscanResult result_;
  KMeansResult labels_;  // labels and counts
  std::string suggestion_;
  double radius_ = 0.0;  // that is suggested
};

void DbscanJob::suggest() {
  check_min_points(held.plan.rows);
  const PointsView values = held.values->values();
  const std::int64_t rows = rows_of(values), stride = (rows - 1) / kSampleRows + 1, count = (rows - 1) / stride + 1;
  Matrix<double> sample(count, columns_of(values)), distances(1, count);
  for (std::int64_t i = 0; i < count; ++i) copy_queries(values, i * stride, sample.view().middle(i, 1));
  nearest_neighbors(
      *held.points, PointsView(std::as_const(sample).view()),
      {.neighbors = options_.min_points, .measure = measure_of(options_.metric())},
      [&](std::int64_t first, const NeighborLists& lists) {
        for (std::int64_t i = 0; i < lists.distance.rows(); ++i) {
          distances(0, first + i) = lists.distance(i, options_.min_points - 1);
        }
      },
      progress);
  const Matrix<double> shown =
      convert_distances<double>(std::as_const(distances).view(), unit_of(options_.metric(), false), 0);
  std::vector<double> ascending(shown.data(), shown.data() + count);
  std::sort(ascending.begin(), ascending.end());
  radius_ = knee_of(ascending);
  suggestion_ = fmt::format("distance to the {} nearest points, the point itself included\n", options_.min_points);
  for (const int percent : {1, 10, 25, 50, 75, 90, 95, 99}) {
    suggestion_ += fmt::format("{:>3} % of the points  {:.6g}\n", percent,
                               ascending[static_cast<std::size_t>((count - 1) * percent / 100)]);
  }
  suggestion_ += fmt::format("suggested --radius   {:.6g}\n", radius_);
}

std::string DbscanJob::cluster_sizes() const {
  std::string out = "cluster  points\n";
  for (std::size_t c = 0; c < result_.counts.size(); ++c) out += fmt::format("{:>7}  {:>6}\n", c, result_.counts[c]);
  return out + fmt::format("  noise  {:>6}\n", result_.noise);
}

void DbscanJob::write() {
  if (target.empty()) return;
  if (is_label_output(common, options_.write_obs)) {
    return write_label_output(common, options_.write_obs, *source, labels_, output);
  }
  data::ResultFile file(target, output);
  write_head(file, {"kith-dbscan", stored_command(), source->value_class(), options_.metric()}, *source);
  file.attribute("radius", options_.radius);
  file.attribute("min_points", options_.min_points);
  file.attribute("noise", result_.noise);
  write_dropped_rows(file, common, *held.values);
  write_preparation(file, held.preparation);
  file.dataset("labels", std::span<const std::int32_t>(labels_.labels));
  file.dataset("counts", std::span<const std::int64_t>(labels_.counts));
  std::vector<std::int64_t> core;
  const std::span<const std::int64_t> kept = held.values->kept_rows();
  for (std::size_t row = 0; row < result_.is_core.size(); ++row) {
    if (result_.is_core[row] != 0) core.push_back(kept.empty() ? static_cast<std::int64_t>(row) : kept[row]);
  }
  file.dataset("core_rows", std::span<const std::int64_t>(core));
  file.finish();
}

}  // namespace

int run_dbscan(const Arguments& arguments) {
  DbscanJobOptions options;
  OptionSet set({.command = "dbscan",
                 .summary = "clusters of points that have many others within a radius, of any shape, and noise.",
                 .usage = "POINTS --radius R [options]",
                 .examples = {"kith dbscan points.h5:/train                       # suggests a radius",
                              "kith dbscan points.h5:/train --radius 0.3 -o clusters.h5",
                              "kith dbscan places.csv --radius 0.01 --min-points 10 -o labels.csv"}});
  declare(set, options);
  return set.parse(arguments) ? DbscanJob(set, options).run() : 0;
}

}  // namespace kith::app
