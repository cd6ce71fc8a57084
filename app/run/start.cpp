// Opens starts by name, from centroids and from labels.
#include "app/run/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/suggest.h"
#include "app/cli/text_options.h"
#include "core/kmeans/label_means.h"
#include "core/kmeans/start.h"

namespace kith::app {
namespace {

/// Every row that counts needs a label.
[[noreturn]] void refuse_unlabelled(const data::Labels& labels, std::int64_t row) {
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 1): expected the label of a cluster, found none or -1; give these "
                          "rows a label, or the weight 0",
                          labels.name, row + 1));
}

/// Labels of clusters. Rows without a label, such as DBSCAN's noise and dropped rows, have the code -1.
data::Labels read_start_labels(const std::string& location, const CommonOptions& common) {
  data::Labels labels = data::read_labels(location, read_options(common), data::Unlabelled::keep);
  for (auto& values = labels.values;;) {
    if (values.empty()) refuse_unlabelled(labels, 0);
    const auto none = std::find(values.begin(), values.end(), data::kNoLabel);
    if (none == values.end()) return labels;
    const auto code = static_cast<std::int32_t>(none - values.begin());
    for (std::int32_t& label : labels.codes) label = label == code ? -1 : label - (label > code ? 1 : 0);
    values.erase(none);
  }
}

}  // namespace

const std::vector<std::string>& start_rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, init] : kStartRules) all.emplace_back(name);
    return all;
  }();
  return names;
}

bool is_start_rule(const std::string& init) {
  return std::find(start_rules().begin(), start_rules().end(), init) != start_rules().end();
}

std::string default_start(const data::PointSource& points, Report& report) {
  const Init init = default_init(points.rows(), points.columns());
  const std::string name = std::find_if(std::begin(kStartRules), std::end(kStartRules), [&](const auto& rule) {
                             return rule.second == init;
                           })->first;
  const bool is_large = init == Init::kmeans_parallel;
  report.decisions.push_back(
      {.subject = "seeding",
       .method = name,
       .reason = fmt::format("{} than 8.6 billion values (rows x columns)", is_large ? "more" : "not more")});
  return name;
}

Reason negative_tolerance(const double& tolerance) {
  return [&tolerance]() -> std::string {
    return tolerance >= 0.0 ? "" : fmt::format("--tolerance: expected 0 or more, found {}", tolerance);
  };
}

std::int64_t Start::clusters() const {
  if (labels) return std::ssize(labels->values);
  return given ? given->rows() : 0;
}

Start open_start(const std::string& init, const std::string& init_labels, const CommonOptions& common) {
  Start start;
  if (!init_labels.empty()) {
    start.labels = read_start_labels(init_labels, common);
    start.stored = stored_name(init_labels);
    return start;
  }
  for (const auto& [name, rule] : kStartRules) {
    if (init != name) continue;
    start.init = rule;
    start.stored = name;
    return start;
  }
  const std::string file = data::parse_location(init).file;
  if (!data::file_exists(file)) {
    throw Error(ExitCode::usage, fmt::format("--init: expected {} or an existing FILE[:DATASET], found '{}', which is "
                                             "neither a rule nor an existing file{}",
                                             fmt::join(start_rules(), ", "), init, suggestion(init, start_rules())));
  }
  start.stored = stored_name(init);
  start.given = data::open_centroids(init, header_of(common));
  return start;
}

void check_labels(const Start& start, std::int64_t clusters, const data::PointSource& points) {
  if (std::ssize(start.labels->codes) != points.rows()) {
    throw Error(
        ExitCode::usage,
        fmt::format("--init-labels {}: expected {} labels, one for each row of {}, found {}; give every row a label",
                    start.labels->name, points.rows(), points.name(), start.labels->codes.size()));
  }
  if (start.clusters() != clusters) {
    throw Error(ExitCode::usage, fmt::format("--init-labels {}: expected {} different labels, for -k, found {}; "
                                             "leave out -k",
                                             start.labels->name, clusters, start.clusters()));
  }
}

Matrix<double> given_centroids(const Start& start, Metric metric) {
  if (!start.given) return {};
  auto centroids = std::get<Matrix<double>>(data::read_all(*start.given));
  if (metric == Metric::cosine) normalize_centroids(centroids.view(), start.given->name());
  return centroids;
}

Matrix<double> label_centroids(const Start& start, const HeldPoints& held, Metric metric) {
  std::vector<std::int32_t> labels;
  for (const std::int64_t row : held.row_numbers()) {
    labels.push_back(start.labels->codes[static_cast<std::size_t>(row)]);
    if (labels.back() < 0) refuse_unlabelled(*start.labels, row);
  }
  std::vector<char> counted(start.labels->values.size(), 0);
  for (const std::int32_t label : labels) counted[static_cast<std::size_t>(label)] = 1;
  if (const auto none = std::find(counted.begin(), counted.end(), 0); none != counted.end()) {
    throw Error(
        ExitCode::data,
        fmt::format("--init-labels {}: expected rows of every label, found all rows of the label {} ignored "
                    "(dropped by --nan, or of weight 0); give its rows other labels",
                    start.labels->name, start.labels->values[static_cast<std::size_t>(none - counted.begin())]));
  }
  Matrix<double> centroids = means_of_labels(*held.points, held.plan, labels, start.clusters());
  if (metric == Metric::cosine) normalize_centroids(centroids.view(), start.labels->name);
  return centroids;
}

}  // namespace kith::app
