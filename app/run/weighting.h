// --weights and --weight-column: the weights of rows, and rows of weight 0, which get a label and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/report.h"
#include "core/kmeans/kmeans.h"
#include "core/points/backend.h"
#include "core/points/weights.h"
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

/// Weighted rows; rows of weight 0 are kept separately.
class WeighedRows {
 public:
  /// All rows of `reading` must have arrived if any row weighs 0. Throws Error(data) if all rows weigh 0.
  WeighedRows(const Weighting& weighting, const data::Reading& reading);

  const Weights& weights() const { return weights_; }
  /// The rows of positive weight, (n, d); valid as long as this object and the reading.
  PointsView values() const { return counted_rows_.empty() ? all_ : view_of(counted_); }
  /// The row numbers of values() in the reading; empty: all rows.
  const std::vector<std::int64_t>& counted_rows() const { return counted_rows_; }
  /// Labels the rows of weight 0 with their nearest centroid, and extends labels, distances (if any) and nearest rows
  /// from the rows of positive weight to all rows of the reading.
  void label_absent_rows(KMeansResult& result, Backend& backend) const;

 private:
  PointsView all_;
  std::vector<double> counted_weights_;
  Weights weights_;
  PointsMatrix counted_, absent_;                         // values, where some rows weigh 0
  std::vector<std::int64_t> counted_rows_, absent_rows_;  // their numbers
};

}  // namespace kith::app
