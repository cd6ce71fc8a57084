// Cosine centroids must not be evaluated as Euclidean means: runs that read a result use its metric.
#include "app/run/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "app/run/file_metric.h"
#include "app/run/results.h"
#include "core/error.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

/// Whether the location names this dataset, at the root or in a group, of a result of one of these formats. A location
/// without a dataset names that at the root.
bool names(const std::string& location, const std::string& dataset, const std::vector<std::string>& formats) {
  const auto [file, named] = data::parse_location(location);
  const bool is_named = named.empty() || named == dataset || named.ends_with("/" + dataset);
  if (!is_named || !data::StoredResult::is_one(file)) return false;
  return std::find(formats.begin(), formats.end(), data::StoredResult(file).format()) != formats.end();
}

/// Empty: the location names no result, or one without a metric.
std::string metric_of_result(const std::string& location) {
  if (location.empty() || !(names_model(location) || names_labels(location))) return "";
  const data::StoredResult result(data::parse_location(location).file);
  const std::string metric = result.text("metric");
  const bool is_known = metric.empty() || metric == name_of(Metric::euclidean) || metric == name_of(Metric::cosine);
  if (is_known) return metric;
  throw Error(ExitCode::data, fmt::format("{}: expected clusters of --metric euclidean or cosine, found {}, which this "
                                          "version of kith does not support; use the version that wrote it, {}",
                                          location, metric, result.text("kith_version")));
}

}  // namespace

bool names_model(const std::string& location) { return names(location, "centroids", {"kith-clusters", "kith-sweep"}); }

bool names_labels(const std::string& location) {
  return names(location, "labels", {"kith-clusters", "kith-sweep", "kith-assignment"});
}

void take_metric(const std::vector<Given>& given, const std::vector<std::string>& points, const OptionSet& set,
                 CommonOptions& common) {
  std::string fixed_by = set.source("--metric") == Source::none ? "" : "--metric";
  for (const auto& [option, location, what] : given) {
    const std::string metric = metric_of_result(location);
    if (metric.empty()) continue;
    if (fixed_by.empty()) {
      fixed_by = fmt::format("{} {}", option, location);
      if (metric != common.metric) Terminal::instance().say(fmt::format("metric     {}, from {}", metric, location));
      common.metric = metric;
    }
    if (metric == common.metric) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} {}: expected {} of --metric {} (from {}), found those of --metric {}; {}", option,
                            location, what, common.metric, fixed_by, metric,
                            fixed_by == "--metric" ? fmt::format("leave out --metric, or give {} of that metric", what)
                                                   : "give results of the same metric"));
  }
  if (fixed_by.empty()) take_file_metric(points, set, common);
}

data::IndexedColumns indexed_columns_of(const std::string& location, std::int64_t columns) {
  data::IndexedColumns indexed{.count = columns};
  if (location.empty() || !(names_model(location) || names_labels(location))) return indexed;
  indexed.base = data::StoredResult(data::parse_location(location).file).whole(kIndexBase).value_or(-1);
  return indexed;
}

}  // namespace kith::app
