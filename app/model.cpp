// Centroids of length 1 measured as if they were means would give an answer that nobody asked for.
#include "app/model.h"

#include <fmt/format.h>

#include "app/terminal.h"
#include "core/error.h"
#include "data/stored_result.h"

namespace kith::app {
namespace {

/// Empty: the location names no result, or one that says nothing of a metric.
std::string metric_of_model(const std::string& location) {
  if (location.empty() || !names_model(location)) return "";
  const data::StoredResult result(data::parse_location(location).file);
  const std::string metric = result.text("metric");
  const bool is_known = metric.empty() || metric == name_of(Metric::euclidean) || metric == name_of(Metric::cosine);
  if (is_known) return metric;
  throw Error(ExitCode::data, fmt::format("{}: expected clusters of --metric euclidean or cosine, found {}, which this "
                                          "version of kith does not know; use the version that wrote it, {}",
                                          location, metric, result.text("kith_version")));
}

}  // namespace

bool names_model(const std::string& location) {
  const auto [file, dataset] = data::parse_location(location);
  const bool centroids = dataset.empty() || dataset == "/centroids" || dataset == "centroids";
  return centroids && data::StoredResult::is_one(file) && data::StoredResult(file).format() == "kith-clusters";
}

void take_metric(const std::vector<GivenCentroids>& given, const OptionSet& set, CommonOptions& common) {
  std::string fixed_by = set.source("--metric") == Source::none ? "" : "--metric";
  for (const auto& [option, location] : given) {
    const std::string metric = metric_of_model(location);
    if (metric.empty()) continue;
    if (fixed_by.empty()) {
      fixed_by = fmt::format("{} {}", option, location);
      if (metric != common.metric) Terminal::instance().say(fmt::format("metric {}: that of {}", metric, location));
      common.metric = metric;
    }
    if (metric == common.metric) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} {}: expected centroids of --metric {}, as {} says, found those of --metric {}; {}",
                            option, location, common.metric, fixed_by, metric,
                            fixed_by == "--metric" ? "leave out --metric, or give centroids of that one"
                                                   : "give results of one metric"));
  }
}

}  // namespace kith::app
