// The metric that an HDF5 file names for its points: the attribute `distance`, as ann-benchmarks and kith write it.
#pragma once

#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/progress.h"

namespace kith::app {

/// Unless --metric is given: sets the metric to the one that the files of these points name, and prints it if it is not
/// the default. Locations may be empty. Throws Error(usage) with the option to give if a file names a metric that kith
/// or the command does not support, or if two files name different ones.
void take_file_metric(const std::vector<std::string>& points, const OptionSet& set, CommonOptions& common);

/// Warns if the file of these lists names another metric than that of the run, so that different lists are no error.
void warn_of_truth_metric(const std::string& truth, const OptionSet& set, const CommonOptions& common,
                          Progress& progress);

}  // namespace kith::app
