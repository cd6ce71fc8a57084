// The weights of rows, and the labels of rows of weight 0.
#include "app/run/weighting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/run/results.h"
#include "core/error.h"
#include "data/labels.h"

namespace kith::app {
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

Weighting checked(data::RowNumbers read, std::int64_t rows, const std::string& name) {
  if (std::ssize(read.values) != rows) {
    throw Error(ExitCode::usage, fmt::format("{}: expected {} weights, one for each row of {}, found {}; give every "
                                             "row a weight, 0 for rows to ignore",
                                             read.name, rows, name, read.values.size()));
  }
  const double total = checked_weights(read.values, read.name).total;
  const auto absent = std::count(read.values.begin(), read.values.end(), 0.0);
  return {std::move(read.name), std::move(read.values), total, absent};
}

}  // namespace

void add_weight_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--weights",
            .value = "FILE[:DATASET]",
            .help = "Weights of the rows, 0 or more: a vector, or FILE:COLUMN of a text file. A weight of w has the "
                    "same effect as repeating the row w times; rows of weight 0 only get a label.",
            .section = Section::points,
            .shown_default = "1 for every row",
            .input = Input::table,
            .stored = Stored::if_changed,
            .position = position::kWeights,
            .excludes = {"--weight-column"}},
           common.weights);
  set.text({.names = "--weight-column",
            .value = "NAME",
            .help = "Column of the points' text file with the weights. It is not part of the points.",
            .section = Section::text,
            .stored = Stored::if_changed,
            .position = position::kWeights},
           common.weight_column);
}

std::optional<Weighting> read_weighting(const CommonOptions& common, const data::PointSource& points) {
  if (common.weight_column.empty()) return read_weighting(common, points.rows(), points.name());
  return checked(data::weights_of(points, common.weight_column, read_options(common)), points.rows(), points.name());
}

std::optional<Weighting> read_weighting(const CommonOptions& common, std::int64_t rows, const std::string& name) {
  if (common.weights.empty()) return std::nullopt;
  return checked(data::read_weights(common.weights, read_options(common)), rows, name);
}

WeightReport describe(const Weighting& weighting) { return {weighting.name, weighting.total, weighting.absent}; }

void write_weighting(data::ResultFile& file, const std::optional<Weighting>& weighting) {
  if (!weighting) return;
  file.attribute("weights", stored_name(weighting->name));
  file.attribute("total_weight", weighting->total);
}

std::int64_t weighting_bytes(const std::optional<Weighting>& weighting, const data::PointSource& points) {
  if (!weighting) return 0;
  const std::int64_t copies = weighting->absent > 0 ? points.columns() * data::size_of(points.held_as()) : 0;
  return checked_product(points.rows(), 32 + copies, "weighted rows");
}

WeighedRows::WeighedRows(const Weighting& weighting, const data::Reading& reading) : all_(reading.values()) {
  const std::span<const std::int64_t> kept = reading.kept_rows();
  std::vector<std::int64_t> counted;
  const std::int64_t rows =
      kept.empty() ? std::ssize(weighting.of_rows) : std::ssize(kept);  // of which some may be in a file
  for (std::int64_t i = 0; i < rows; ++i) {
    const double weight = weighting.of_rows[static_cast<std::size_t>(kept.empty() ? i : kept[i])];
    (weight > 0.0 ? counted : absent_rows_).push_back(i);
    if (weight > 0.0) counted_weights_.push_back(weight);
  }
  weights_ = checked_weights(counted_weights_, weighting.name);
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

}  // namespace kith::app
