// Results as models and labels of other runs: whether a location names one, and the metric that it fixes.
#pragma once

#include <string>
#include <vector>

#include "app/cli/common_options.h"

namespace kith::app {

/// Does the location name the centroids of a result of kith cluster or sweep?
bool names_model(const std::string& location);

/// Does the location name the labels of a result of kith cluster, sweep or assign?
bool names_labels(const std::string& location);

/// Centroids or labels that an argument gives; `location` may be empty.
struct Given {
  const char* option;  // "--centroids", "LABELS"
  std::string location;
  const char* what = "centroids";
};

/// Takes the metric of the results among them, and says so where it is not the default. Throws Error(usage) where
/// --metric was given or one result has another metric than one before, Error(data) for a metric that is not known.
/// Other matrices and labels have none.
void take_metric(const std::vector<Given>& given, const OptionSet& set, CommonOptions& common);

}  // namespace kith::app
