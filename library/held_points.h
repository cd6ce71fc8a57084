// What PointData and Model hold, and the checks of values and options, for the parts of the library.
#pragma once

#include <kith/device.h>
#include <kith/error.h>
#include <kith/model.h>
#include <kith/points.h>

#include <fmt/format.h>

#include <kith/cluster.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/numbers/metric.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"
#include "core/points/row_reader.h"
#include "core/preparation/preparation.h"

namespace kith {

struct PointData::Held {
  std::variant<PointsMatrix, std::vector<float>, std::vector<double>> own;  // of points from files, and taken over
  PointsView view;                                                          // values of a GPU are not read through it
  std::unique_ptr<RowReader> on_gpu;                                        // null: the values are in the host's memory

  /// The values in the memory of the host. Those of a GPU are copied by the first call.
  const PointsView& host() const {
    if (on_gpu == nullptr) return view;
    std::call_once(copied_, [this] {
      std::visit(
          [&]<class T>(MatrixView<const T> rows) {
            Matrix<T> values(rows.rows, rows.columns);
            on_gpu->read(0, rows.rows, reinterpret_cast<std::byte*>(values.data()));
            copy_ = std::move(values);
          },
          view);
      on_host_ = view_of(copy_);
    });
    return on_host_;
  }

 private:
  mutable std::once_flag copied_;
  mutable PointsMatrix copy_;
  mutable PointsView on_host_;
};

/// Throws Error(data) about a value that is not finite. at: its number, row after row.
template <class T>
[[noreturn]] void refuse_value(const std::string& name, std::int64_t at, std::int64_t columns, T value) {
  throw Error(ExitCode::data,
              fmt::format("{}: row {}, column {} (counted from 1): expected a finite number, found {}; replace the "
                          "value or remove the row",
                          name, at / columns + 1, at % columns + 1,
                          std::isnan(value) ? "NaN"
                          : value > 0       ? "infinity"
                                            : "-infinity"),
              Cause::value);
}

/// Throws Error(data) about the first value that is not finite. name: of the values, for messages.
template <class T>
void require_finite(const std::string& name, std::span<const T> values, std::int64_t columns) {
  // Sums of products with 0 are NaN where a value is not finite; they take no branch for each value.
  constexpr std::size_t kBlock = 4096;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    T sums[16] = {};
    for (std::size_t i = 0; i < block.size(); ++i) sums[i % 16] += block[i] * T{0};
    if (std::none_of(std::begin(sums), std::end(sums), [](T sum) { return std::isnan(sum); })) continue;
    const auto wrong = std::find_if_not(block.begin(), block.end(), [](T v) { return std::isfinite(v); });
    refuse_value(name, static_cast<std::int64_t>(first) + (wrong - block.begin()), columns, *wrong);
  }
}

struct Model::Contents {
  /// The centroids as points of a device, in which single points find theirs.
  struct Lookup {
    OpenDevice device;
    Index index;
  };
  /// That of the device of the last call.
  Index lookup_on(const OpenDevice& device) const {
    const std::lock_guard lock(mutex);
    if (!lookup || lookup->device != device) {
      std::vector<double> values = centroids.values;
      lookup.emplace(Lookup{device, Index(device.hold(PointData(std::move(values), centroids.columns, "centroids")))});
    }
    return lookup->index;
  }

  OwnedMatrix<double> centroids;
  std::optional<Preparation> preparation;
  std::vector<ModelColumn> columns;
  std::int64_t width = 0;
  std::string metric;

 private:
  mutable std::mutex mutex;
  mutable std::optional<Lookup> lookup;
};

// Checks of options. They throw Error(usage), and Error(data) for values.

/// The metric of this name; `means`: only metrics that k-means supports.
Metric metric_named(const std::string& name, bool means);
/// The start of this name, or without one the default for the shape and the number of clusters.
Init init_named(const std::string& name, const DataPlan& plan, std::int64_t clusters);
EmptyRule rule_named(const std::string& name);
/// Given centroids (k, d); for cosine their directions.
Matrix<double> checked_centroids(const OwnedMatrix<double>& centroids, Metric metric);
void check_options(const ClusterOptions& options);
/// One weight for each row, or none.
void check_weights(std::span<const double> weights, std::int64_t rows);

}  // namespace kith
