// --weights and --weight-column: what rows weigh, and the rows of weight 0, which get labels and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/common_options.h"
#include "app/run/report.h"
#include "core/backend.h"
#include "core/kmeans.h"
#include "core/weights.h"
#include "data/reading.h"

namespace kith::app {

void add_weight_options(OptionSet& set, CommonOptions& common);
/// What the stored command says of them: nothing where rows are not weighted.
std::string stored_weights(const CommonOptions& common);

/// The weights of the rows of a file, checked.
struct Weighting {
  std::string name;             // as shown
  std::vector<double> of_rows;  // (n)
  double total = 0.0;
  std::int64_t absent = 0;  // rows of weight 0
};

/// Nothing where rows are not weighted. Throws Error(usage): both options, or not as many weights as points; and what
/// read_weights() and checked_weights() throw.
std::optional<Weighting> read_weighting(const CommonOptions& common, const data::PointSource& points);
/// The same of --weights alone, for rows that are not read: `name` is what they are called.
std::optional<Weighting> read_weighting(const CommonOptions& common, std::int64_t rows, const std::string& name);

WeightReport describe(const Weighting& weighting);
/// The attributes `weights` and `total_weight`.
void write_weighting(data::ResultFile& file, const std::optional<Weighting>& weighting);

/// Host bytes that weighted rows take beside the points.
std::int64_t weighting_bytes(const std::optional<Weighting>& weighting, const data::PointSource& points);

/// Weighted rows, those of weight 0 apart from the others.
class WeighedRows {
 public:
  /// All rows of `reading` have arrived unless none weighs 0. Throws Error(data) where no row is left.
  WeighedRows(const Weighting& weighting, const data::Reading& reading);

  const Weights& weights() const { return weights_; }
  /// The rows that count, (n, d); both as long as this object and the reading live.
  PointsView values() const { return counted_rows_.empty() ? all_ : view_of(counted_); }
  /// The numbers of the rows of values() among those of the reading; empty: all of them.
  const std::vector<std::int64_t>& counted_rows() const { return counted_rows_; }
  /// Gives the rows of weight 0 the label of their nearest centroid, and brings labels, distances, if there are any,
  /// and nearest rows from the rows that count to all rows of the reading.
  void label_absent_rows(KMeansResult& result, Backend& backend) const;

 private:
  PointsView all_;
  std::vector<double> counted_weights_;
  Weights weights_;
  PointsMatrix counted_, absent_;                         // values, where some rows weigh 0
  std::vector<std::int64_t> counted_rows_, absent_rows_;  // their numbers
};

}  // namespace kith::app
