// Two files of neighbours: how far one of them agrees with the other, without a search.
#pragma once

#include <string>

#include "app/run/points_run.h"

namespace kith::app {

/// Whether the location names lists of neighbours, a matrix of more than one column or /neighbors, and not labels.
bool names_lists(const std::string& location);

/// Compares the lists of `judged` with those of `truth`, puts the scores into the report, and returns them in words.
/// Distances are those in the two files. Throws Error(data) unless both have a list for each of the same queries.
std::string compare_lists(const std::string& judged, const std::string& truth, PointsRun& run);

}  // namespace kith::app
