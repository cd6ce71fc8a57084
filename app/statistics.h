// Per-column minimum, maximum, mean and deviation of a dataset, read in row order so that every machine agrees.
#pragma once

#include <cstdint>
#include <vector>

#include "app/run/progress.h"
#include "data/source.h"

namespace kith::app {

struct ColumnStatistics {
  std::int64_t missing = 0;  // NaN, infinities and empty fields; the numbers below are those of the other values
  double minimum = 0.0;      // NaN, as the others, if there is no value
  double maximum = 0.0;
  double mean = 0.0;
  double deviation = 0.0;  // root of the mean squared difference from the mean
};

/// Of every column (d), in two passes over the file; holds up to 64 MiB of rows at a time. Throws as reading does;
/// the source must keep missing values (Missing::keep), or it throws for them.
std::vector<ColumnStatistics> column_statistics(data::PointSource& source, Progress& progress);

}  // namespace kith::app
