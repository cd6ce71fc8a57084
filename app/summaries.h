// Summaries for kith info: of the columns of a dataset, of a text table, and of a set of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/run/progress.h"
#include "data/source.h"
#include "data/text/column_types.h"

namespace kith::app {

struct ColumnStatistics {
  std::int64_t missing = 0;  // NaN, infinities and empty fields; the numbers below are those of the other values
  double minimum = 0.0;      // NaN, as the others, if there is no value
  double maximum = 0.0;
  double mean = 0.0;
  double deviation = 0.0;  // root of the mean squared difference from the mean
};

/// Minimum, maximum, mean and deviation of every column (d), in row order so that every machine agrees, in two passes
/// over the file; holds up to 64 MiB of rows at a time. Throws as reading does; the source must keep missing values
/// (Missing::keep), or it throws for them.
std::vector<ColumnStatistics> column_statistics(data::PointSource& source, Progress& progress);

/// A line or more for each column: type, missing and different values, range or commonest values, examples; at most 50
/// columns.
std::string profile_table_text(const data::TableProfile& table, std::size_t width);

/// A list with an object for each column.
nlohmann::ordered_json profile_json(const data::TableProfile& table);

/// What the files of a folder, a pattern or a list hold together, and which of them differ: opens each, without reading
/// its values.
nlohmann::ordered_json summary_of_set(const std::string& name, const data::ReadOptions& options);
/// The same for people.
std::string summary_text(const nlohmann::ordered_json& summary);

}  // namespace kith::app
