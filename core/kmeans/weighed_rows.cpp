// Weighted rows, and the labels of rows of weight 0.
#include "core/kmeans/weighed_rows.h"

#include <algorithm>
#include <utility>

namespace kith {
namespace {

PointsMatrix some_rows(const PointsView& values, const std::vector<std::int64_t>& rows) {
  return std::visit(
      [&]<class T>(MatrixView<const T> all) -> PointsMatrix {
        Matrix<T> some(static_cast<std::int64_t>(rows.size()), all.columns);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto row = all.row(rows[i]);
          std::copy(row.begin(), row.end(), some.row(static_cast<std::int64_t>(i)).begin());
        }
        return some;
      },
      values);
}

/// Merges the entries of two disjoint sets of rows.
template <class T>
void merge(UninitializedVector<T>& values, const std::vector<std::int64_t>& rows, const UninitializedVector<T>& others,
           const std::vector<std::int64_t>& other_rows) {
  UninitializedVector<T> all(rows.size() + other_rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) all[static_cast<std::size_t>(rows[i])] = values[i];
  for (std::size_t i = 0; i < other_rows.size(); ++i) all[static_cast<std::size_t>(other_rows[i])] = others[i];
  values = std::move(all);
}

}  // namespace

WeighedRows::WeighedRows(std::span<const double> weights, const std::string& name, const PointsView& all,
                         std::span<const std::int64_t> kept)
    : all_(all) {
  std::vector<std::int64_t> counted;
  const std::int64_t rows = kept.empty() ? std::ssize(weights) : std::ssize(kept);  // of which some may be in a file
  for (std::int64_t i = 0; i < rows; ++i) {
    const double weight = weights[static_cast<std::size_t>(kept.empty() ? i : kept[i])];
    (weight > 0.0 ? counted : absent_rows_).push_back(i);
    if (weight > 0.0) counted_weights_.push_back(weight);
  }
  weights_ = checked_weights(counted_weights_, name);
  if (absent_rows_.empty()) return;
  counted_ = some_rows(all_, counted);
  absent_ = some_rows(all_, absent_rows_);
  counted_rows_ = std::move(counted);
}

void WeighedRows::label_absent_rows(KMeansResult& result, Backend& backend) const {
  if (absent_rows_.empty()) return;
  const auto points = backend.hold({view_of(absent_), 0});
  const DataPlan plan = make_plan(*points);
  points->prepare(plan);
  Observer silent;
  const KMeansResult others = assign_only(*points, plan, result.centroids.view(), silent);
  merge(result.labels, counted_rows_, others.labels, absent_rows_);
  if (!result.distances.empty()) {
    UninitializedVector<double> distances(absent_rows_.size());
    points->distances(distances);
    merge(result.distances, counted_rows_, distances, absent_rows_);
  }
  for (std::int64_t& row : result.nearest_row) {
    if (row >= 0) row = counted_rows_[static_cast<std::size_t>(row)];
  }
}

}  // namespace kith
