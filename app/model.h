// Results of kith cluster as models of other runs: whether a location names one, and the metric that it fixes.
#pragma once

#include <string>
#include <vector>

#include "app/common_options.h"

namespace kith::app {

/// Does the location name the centroids of a result of kith cluster?
bool names_model(const std::string& location);

/// Centroids that an option gives; `location` may be empty.
struct GivenCentroids {
  const char* option;  // "--centroids"
  std::string location;
};

/// Takes the metric of the results among them, and says so where it is not the default. Throws Error(usage) where
/// --metric was given or one result has another metric than one before, Error(data) for a metric that is not known.
/// Other matrices have none.
void take_metric(const std::vector<GivenCentroids>& given, const OptionSet& set, CommonOptions& common);

}  // namespace kith::app
