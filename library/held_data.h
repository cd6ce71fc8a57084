// What the parts of the C++ interface share: points as a backend holds them, options by name, progress.
#pragma once

#include <memory>
#include <string>

#include "core/numbers/metric.h"
#include "core/points/backend.h"
#include "core/points/data_plan.h"
#include "core/points/observer.h"

#include <kith/points.h>
#include <kith/run.h>

namespace kith {

struct PointData::Held {
  PointsMatrix own;  // of points from files
  PointsView view;
};

/// Passes reports on, and throws Error(time_limit) when the caller cancels.
class Reporter final : public Observer {
 public:
  explicit Reporter(const RunOptions& options) : options_(options) {}
  void phase(const std::string& name, std::int64_t steps) override;
  void progress(std::int64_t done) override;
  void iteration(const IterationRecord& record) override;
  void warning(const std::string& message) override;

 private:
  void report();

  const RunOptions& options_;
  ProgressReport report_;
};

/// Points in a backend, with their plan.
struct OpenPoints {
  Matrix<double> directions;  // of the points, for cosine
  PointsView view;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Points> points;
  DataPlan plan;
};

/// Throws Error(data) about the first value that is not finite.
void require_finite_centroids(std::span<const double> values, std::int64_t columns);
/// Throws Error(usage) for an unknown name; `means`: only metrics that k-means supports.
Metric metric_named(const std::string& name, bool means);
/// The values or, for cosine, their directions, which are written to `directions`.
PointsView values_for(const PointData& points, Metric metric, Matrix<double>& directions);
OpenPoints open_points(const PointData& points, Metric metric, const RunOptions& options, Reporter& reporter);

/// An owned copy of a matrix.
template <class T>
OwnedMatrix<T> copied(const Matrix<T>& matrix) {
  return {matrix.rows(), matrix.columns(), {matrix.data(), matrix.data() + matrix.size()}};
}

}  // namespace kith
