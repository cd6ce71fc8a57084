// The C++ interface: points are prepared as a model says, and assigned or looked up among its centroids.
#include <kith/model.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/numbers/metric.h"
#include "core/preparation/preparation.h"
#include "core/runtime/threads.h"
#include "library/held_points.h"

namespace kith {
namespace {

/// So few points are compared with all centroids one by one sooner than the centroids are made ready for many.
bool are_few(std::int64_t points, std::int64_t clusters) { return points <= std::max<std::int64_t>(16, clusters / 8); }

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

Model Model::of(OwnedMatrix<double> centroids, const std::string& metric) {
  auto contents = std::make_shared<Contents>();
  const Matrix<double> checked = checked_centroids(centroids, metric_named(metric, true));
  std::copy(checked.data(), checked.data() + checked.size(), centroids.values.begin());
  contents->width = centroids.columns;
  contents->centroids = std::move(centroids);
  contents->metric = metric;
  Model model;
  model.contents_ = std::move(contents);
  return model;
}

ClusterResult Model::assign(const PointData& points, const RunOptions& options) const {
  return assign(points, open(options), options);
}

ClusterResult Model::assign(const PointData& points, const OpenDevice& device, const RunOptions& options) const {
  return device.hold(prepared(points, options))
      .assign(contents_->centroids, {.metric = contents_->metric, .run = options});
}

std::vector<std::int32_t> Model::labels(const PointData& points, const OpenDevice& device,
                                        const RunOptions& options) const {
  const bool is_plain = !takes_directions(metric_named(contents_->metric, true));
  if (!is_plain || !are_few(points.rows(), clusters())) return assign(points, device, options).labels;
  const NeighborTable nearest = contents_->lookup_on(device).search(prepared(points, options), 1, options);
  return {nearest.rows.values.begin(), nearest.rows.values.end()};
}

PointData Model::prepared(const PointData& points, const RunOptions& options) const {
  if (points.columns() != contents_->width) {
    throw Error(ExitCode::usage, fmt::format("points: expected {} columns, as the points of the model have, found {}",
                                             contents_->width, points.columns()));
  }
  if (!contents_->preparation) return points;
  auto held = std::make_shared<PointData::Held>();
  held->own = copied(points.held().host(), takes_directions(metric_named(contents_->metric, true)));
  auto& values = std::get<PointsMatrix>(held->own);
  Threads threads(options.threads);
  apply_preparation({values, "points"}, *contents_->preparation, threads);
  held->view = view_of(values);
  return PointData::of(std::move(held));
}

const std::vector<ModelColumn>& Model::columns() const { return contents_->columns; }
std::int64_t Model::width() const { return contents_->width; }
std::int64_t Model::clusters() const { return contents_->centroids.rows; }
const OwnedMatrix<double>& Model::centroids() const { return contents_->centroids; }
const std::string& Model::metric() const { return contents_->metric; }

}  // namespace kith
