// The C++ interface: points in memory, and computations that open a device and hold points for one call.
#include <kith/kith.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/numbers/places.h"
#include "core/points/backend.h"
#include "library/held_points.h"

namespace kith {
namespace {

void require_shape(std::int64_t count, std::int64_t columns, const std::string& name) {
  if (count == 0) {
    throw Error(ExitCode::usage, name + ": expected rows x columns values, found none; give a row or more");
  }
  if (columns < 1 || count % columns != 0) {
    throw Error(ExitCode::usage, fmt::format("{}: expected a multiple of the number of columns, found {} values "
                                             "and {} columns; give rows x columns values",
                                             name, count, columns));
  }
}

template <class T>
PointsView checked(std::span<const T> values, std::int64_t columns, const std::string& name) {
  const auto count = static_cast<std::int64_t>(values.size());
  require_shape(count, columns, name);
  if constexpr (std::is_floating_point_v<T>) require_finite(name, values, columns);
  return MatrixView<const T>{values.data(), count / columns, columns};
}

template <class T>
std::shared_ptr<const PointData::Held> borrowed_on_gpu(const T* values, std::int64_t rows, std::int64_t columns,
                                                       const std::string& name) {
  require_shape(rows * columns, columns, name);
  auto held = std::make_shared<PointData::Held>();
  held->view = MatrixView<const T>{values, rows, columns};
  const auto gpus =
      std::find_if(backends().begin(), backends().end(), [](const auto& entry) { return entry.has_gpus; });
  auto [reader, wrong] = gpus->rows_on_gpu(held->view);
  if (wrong >= 0) {
    std::vector<T> row(static_cast<std::size_t>(columns));
    reader->read(wrong / columns, 1, reinterpret_cast<std::byte*>(row.data()));
    refuse_value(name, wrong, columns, row[static_cast<std::size_t>(wrong % columns)]);
  }
  held->on_gpu = std::move(reader);
  return held;
}

template <class T>
std::shared_ptr<const PointData::Held> borrowed(std::span<const T> values, std::int64_t columns,
                                                const std::string& name) {
  auto held = std::make_shared<PointData::Held>();
  held->view = checked(values, columns, name);
  return held;
}

template <class T>
std::shared_ptr<const PointData::Held> owned(std::vector<T>&& values, std::int64_t columns, const std::string& name) {
  auto held = std::make_shared<PointData::Held>();
  held->view = checked(std::span<const T>(held->own.emplace<std::vector<T>>(std::move(values))), columns, name);
  return held;
}

}  // namespace

PointData::PointData(std::span<const float> values, std::int64_t columns, const std::string& name)
    : held_(borrowed(values, columns, name)) {}
PointData::PointData(std::span<const double> values, std::int64_t columns, const std::string& name)
    : held_(borrowed(values, columns, name)) {}
PointData::PointData(std::span<const std::uint8_t> values, std::int64_t columns, const std::string& name)
    : held_(borrowed(values, columns, name)) {}
PointData::PointData(std::span<const std::int8_t> values, std::int64_t columns, const std::string& name)
    : held_(borrowed(values, columns, name)) {}
PointData::PointData(std::vector<float>&& values, std::int64_t columns, const std::string& name)
    : held_(owned(std::move(values), columns, name)) {}
PointData::PointData(std::vector<double>&& values, std::int64_t columns, const std::string& name)
    : held_(owned(std::move(values), columns, name)) {}

PointData PointData::on_gpu(const float* values, std::int64_t rows, std::int64_t columns, const std::string& name) {
  return of(borrowed_on_gpu(values, rows, columns, name));
}
PointData PointData::on_gpu(const double* values, std::int64_t rows, std::int64_t columns, const std::string& name) {
  return of(borrowed_on_gpu(values, rows, columns, name));
}
PointData PointData::on_gpu(const std::uint8_t* values, std::int64_t rows, std::int64_t columns,
                            const std::string& name) {
  return of(borrowed_on_gpu(values, rows, columns, name));
}
PointData PointData::on_gpu(const std::int8_t* values, std::int64_t rows, std::int64_t columns,
                            const std::string& name) {
  return of(borrowed_on_gpu(values, rows, columns, name));
}

PointData PointData::of(std::shared_ptr<const Held> held) {
  PointData points;
  points.held_ = std::move(held);
  return points;
}
std::int64_t PointData::rows() const { return rows_of(held_->view); }
std::int64_t PointData::columns() const { return columns_of(held_->view); }

const char* library_version() { return KITH_VERSION; }

bool is_usable(const std::string& backend, std::string* reason, const RunOptions& options) {
  std::string why = fmt::format("backend: expected cuda or cpu, found '{}'", backend);
  for (const BackendEntry& entry : backends()) {
    if (backend != entry.name) continue;
    BackendOptions wanted;
    wanted.device = entry.has_gpus ? options.device : 0;
    why = entry.missing(wanted);
  }
  if (reason != nullptr) *reason = why;
  return why.empty();
}

ClusterResult cluster(const PointData& points, std::int64_t clusters, const ClusterOptions& options) {
  return open(options.run).hold(points).cluster(clusters, options);
}
ClusterResult assign(const PointData& points, const OwnedMatrix<double>& centroids, const AssignOptions& options) {
  return open(options.run).hold(points).assign(centroids, options);
}
NeighborTable neighbors(const PointData& base, std::int64_t k, const SearchOptions& options) {
  return Index(open(options.run).hold(base), options).search(k, options.run);
}
NeighborTable neighbors(const PointData& base, const PointData& queries, std::int64_t k, const SearchOptions& options) {
  return Index(open(options.run).hold(base), options).search(queries, k, options.run);
}
RadiusTable radius(const PointData& base, double radius, const SearchOptions& options) {
  return Index(open(options.run).hold(base), options).within(radius, options.run);
}
RadiusTable radius(const PointData& base, const PointData& queries, double radius, const SearchOptions& options) {
  return Index(open(options.run).hold(base), options).within(queries, radius, options.run);
}

std::vector<PlaceColumns> place_columns(const std::vector<std::string>& names) {
  std::vector<PlaceColumns> all;
  for (const PlaceAngle& angle : place_angles()) all.push_back({angle.name, angle.known, columns_named(angle, names)});
  return all;
}

}  // namespace kith
