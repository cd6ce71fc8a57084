// Counted assignments, and inertia from integer sums.
#include "core/inertia.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"

namespace kith {

void check_counts(const std::vector<std::int64_t>& counts, const DataPlan& plan) {
  const std::int64_t counted = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (counted == plan.rows) return;
  throw Error(
      ExitCode::internal,
      fmt::format("the assignment counted {} of {} rows: the device or the memory is faulty", counted, plan.rows),
      Cause::faulty_hardware);
}

Assignment assign(Points& points, const DataPlan& plan, MatrixView<const double> centroids) {
  Assignment assignment(centroids.rows);
  points.assign({centroids}, assignment);
  check_counts(assignment.counts, plan);
  return assignment;
}

namespace {

Inertia measure_on(Points& points, const DataPlan& plan, MatrixView<const double> centroids, FixedScale scale) {
  const MeasureRequest request{centroids, scale, term_bits(plan.weights.terms)};
  std::vector<Limbs> parts(centroids.rows);
  points.measure(request, parts);
  Inertia result;
  Limbs total;
  for (const Limbs& part : parts) {
    total.high += part.high;
    total.low += part.low;
    result.per_cluster.push_back(from_limbs(part, request.inertia.shift, request.inertia_bits));
  }
  result.total = from_limbs(total, request.inertia.shift, request.inertia_bits);
  result.rounding = scaled_by(static_cast<double>(plan.weights.terms), -(request.inertia.shift + request.inertia_bits));
  return result;
}

}  // namespace

Inertia measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids) {
  return measure_on(points, plan, centroids, inertia_scale(plan, centroids));
}

Inertia measure_labels(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                       std::span<const std::int64_t> counts) {
  return measure_on(points, plan, centroids, inertia_scale(plan, centroids, counts));
}

}  // namespace kith
