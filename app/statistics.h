// Per-column minimum, maximum, mean and deviation of a dataset, read in row order so that every machine agrees.
#pragma once

#include <cstdint>
#include <vector>

#include "app/run/progress.h"
#include "data/source.h"

namespace kith::app {

struct ColumnStatistics {
  double minimum = 0.0;
  double maximum = 0.0;
  double mean = 0.0;
  double deviation = 0.0;  // root of the mean squared difference from the mean
};

/// Of every column (d), in two passes over the file; holds up to 64 MiB of rows at a time. Throws Error(data) on NaN
/// and infinity, as reading does.
std::vector<ColumnStatistics> column_statistics(data::PointSource& source, Progress& progress);

}  // namespace kith::app
