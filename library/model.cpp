// The C++ interface: opens a result, and prepares points as it says before they are assigned.
#include <kith/model.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/numbers/metric.h"
#include "core/preparation/preparation.h"
#include "core/runtime/threads.h"
#include "data/results/stored_model.h"
#include "data/results/stored_result.h"
#include "library/held_points.h"
#include "library/option_checks.h"

namespace kith {

struct Model::Contents {
  OwnedMatrix<double> centroids;
  std::optional<Preparation> preparation;
  std::vector<ModelColumn> columns;
  std::int64_t width = 0;
  std::string metric;
};

namespace {

template <class T>
PointsMatrix copied_as(const PointsView& points) {
  Matrix<T> copy(rows_of(points), columns_of(points));
  std::visit([&](const auto& view) { std::copy(view.data, view.data + view.size(), copy.data()); }, points);
  return copy;
}

/// The values in the type in which kith assign prepares them.
PointsMatrix copied(const PointsView& points, bool has_directions) {
  const bool is_wide = has_directions || std::holds_alternative<MatrixView<const double>>(points);
  return is_wide ? copied_as<double>(points) : copied_as<float>(points);
}

}  // namespace

Model Model::from_file(const std::string& file) {
  const data::StoredResult result(file);
  if (result.format() != "kith-clusters") {
    throw Error(ExitCode::data,
                fmt::format("{}: expected a result of kith cluster, found one of format {}", file, result.format()));
  }
  auto contents = std::make_shared<Contents>();
  const Matrix<double> centroids = result.matrix("centroids");
  contents->centroids = {
      centroids.rows(), centroids.columns(), {centroids.data(), centroids.data() + centroids.size()}};
  contents->preparation = data::read_preparation(result);
  contents->metric = result.text("metric");
  contents->width = centroids.columns();
  if (contents->preparation && contents->preparation->pca.size() > 0) {
    contents->width = std::ssize(contents->preparation->pca.mean);
  }
  if (const auto table = data::read_model(result)) {
    for (const data::ColumnModel& column : table->columns) {
      contents->columns.push_back({column.name, data::kind_of(column.how), column.texts});
    }
  }
  Model model;
  model.contents_ = std::move(contents);
  return model;
}

ClusterResult Model::assign(const PointData& points, const RunOptions& options) const {
  return assign(points, open(options), options);
}

ClusterResult Model::assign(const PointData& points, const OpenDevice& device, const RunOptions& options) const {
  if (points.columns() != contents_->width) {
    throw Error(ExitCode::usage, fmt::format("points: expected {} columns, as the points of the model have, found {}",
                                             contents_->width, points.columns()));
  }
  const AssignOptions assigning{.metric = contents_->metric, .run = options};
  if (!contents_->preparation) return device.hold(points).assign(contents_->centroids, assigning);
  auto held = std::make_shared<PointData::Held>();
  held->own = copied(points.held().view, takes_directions(metric_named(contents_->metric, true)));
  auto& values = std::get<PointsMatrix>(held->own);
  Threads threads(options.threads);
  apply_preparation({values, "points"}, *contents_->preparation, threads);
  held->view = view_of(values);
  return device.hold(PointData::of(std::move(held))).assign(contents_->centroids, assigning);
}

const std::vector<ModelColumn>& Model::columns() const { return contents_->columns; }
std::int64_t Model::width() const { return contents_->width; }
std::int64_t Model::clusters() const { return contents_->centroids.rows; }
const std::string& Model::metric() const { return contents_->metric; }

}  // namespace kith
