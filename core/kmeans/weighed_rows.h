// Weighted rows: those of weight 0 get a label and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/points/backend.h"
#include "core/points/weights.h"

namespace kith {

/// Weighted rows; rows of weight 0 are kept separately.
class WeighedRows {
 public:
  /// weights, named `name` in messages: of all rows of a data set, as checked_weights() accepts them. all: the rows
  /// with the numbers `kept`, or all rows. They must be in memory if any row weighs 0.
  WeighedRows(std::span<const double> weights, const std::string& name, const PointsView& all,
              std::span<const std::int64_t> kept = {});

  const Weights& weights() const { return weights_; }
  /// The rows of positive weight, (n, d); valid as long as this object and `all`.
  PointsView values() const { return counted_rows_.empty() ? all_ : view_of(counted_); }
  /// The row numbers of values() in `all`; empty: all rows.
  const std::vector<std::int64_t>& counted_rows() const { return counted_rows_; }
  /// Labels the rows of weight 0 with their nearest centroid, and extends labels, distances (if any) and nearest rows
  /// from the rows of positive weight to all rows.
  void label_absent_rows(KMeansResult& result, Backend& backend) const;

 private:
  PointsView all_;
  std::vector<double> counted_weights_;
  Weights weights_;
  PointsMatrix counted_, absent_;                         // values, where some rows weigh 0
  std::vector<std::int64_t> counted_rows_, absent_rows_;  // their numbers
};

}  // namespace kith
