// --weights and --weight-column: the weights of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/report.h"
#include "data/reading.h"

namespace kith::app {

void add_weight_options(OptionSet& set, CommonOptions& common);

/// The weights of the rows of a file, checked.
struct Weighting {
  std::string name;             // as shown
  std::vector<double> of_rows;  // (n)
  double total = 0.0;
  std::int64_t absent = 0;  // rows of weight 0
};

/// The weights of the points; nothing without --weights and --weight-column. Throws Error(usage) if the number of
/// weights is not that of the points, and the errors of read_weights() and checked_weights().
std::optional<Weighting> read_weighting(const CommonOptions& common, const data::PointSource& points);
/// The same for rows that are not read: --weights alone applies. `name` names the rows in messages.
std::optional<Weighting> read_weighting(const CommonOptions& common, std::int64_t rows, const std::string& name);

WeightReport describe(const Weighting& weighting);
/// The attributes `weights` and `total_weight`.
void write_weighting(data::ResultFile& file, const std::optional<Weighting>& weighting);

/// Host bytes for weighted rows besides the points.
std::int64_t weighting_bytes(const std::optional<Weighting>& weighting, const data::PointSource& points);

}  // namespace kith::app
