// Counted assignments, and inertia from integer sums.
#include "core/kmeans/inertia.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

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

Assignment assign_and_sum(Points& points, const DataPlan& plan, MatrixView<const double> centroids, ClusterSums& sums) {
  Assignment assignment(centroids.rows);
  points.sweep({.centroids = centroids, .sums = &sums}, assignment);
  check_counts(assignment.counts, plan);
  return assignment;
}

namespace {

MeasureRequest request_of(const DataPlan& plan, MatrixView<const double> centroids, FixedScale scale) {
  return {centroids, scale, term_bits(plan.weights.terms)};
}

/// parts: (k) the sums of a measurement.
Inertia inertia_of(const std::vector<Limbs>& parts, const MeasureRequest& request, const DataPlan& plan) {
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

Inertia measure_on(Points& points, const DataPlan& plan, MatrixView<const double> centroids, FixedScale scale) {
  const MeasureRequest request = request_of(plan, centroids, scale);
  std::vector<Limbs> parts(centroids.rows);
  points.measure(request, parts);
  return inertia_of(parts, request, plan);
}

/// The largest values set the grid, which may be far coarser than the distances: one value of 1e16 in a cluster of its
/// own. If the mean of these has fewer than 20 bits, they are measured again on the grid of the largest one.
Inertia measure_again_if_coarse(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                                Inertia result) {
  const double step = result.rounding / static_cast<double>(plan.weights.terms);
  if (result.total / plan.weights.total >= step * 0x1p20) return result;  // the largest D is at least the mean
  const double farthest = points.farthest(1).front().distance;
  if (!(farthest > 0.0) || farthest >= step * 0x1p20) return result;
  return measure_on(points, plan, centroids, fixed_scale(plan.weights.value_bits() - exponent_above(farthest)));
}

}  // namespace

MeasuredAssignment assign_and_measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                                      ClusterSums* sums) {
  const MeasureRequest request = request_of(plan, centroids, inertia_scale(plan, centroids));
  Assignment assignment(centroids.rows);
  std::vector<Limbs> parts(centroids.rows);
  points.sweep({centroids, sums, &request, parts}, assignment);
  check_counts(assignment.counts, plan);
  return {std::move(assignment), measure_again_if_coarse(points, plan, centroids, inertia_of(parts, request, plan))};
}

Inertia measure(Points& points, const DataPlan& plan, MatrixView<const double> centroids) {
  return measure_again_if_coarse(points, plan, centroids,
                                 measure_on(points, plan, centroids, inertia_scale(plan, centroids)));
}

Inertia measure_labels(Points& points, const DataPlan& plan, MatrixView<const double> centroids,
                       std::span<const std::int64_t> counts) {
  return measure_again_if_coarse(points, plan, centroids,
                                 measure_on(points, plan, centroids, inertia_scale(plan, centroids, counts)));
}

}  // namespace kith
