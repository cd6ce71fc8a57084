// Counted assignments, inertia and centroids from integer sums, and what happens to empty clusters.
#include "core/kmeans/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/numbers/distance.h"
#include "core/numbers/maps.h"
#include "core/runtime/large_pages.h"

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

namespace {

/// The squared rounding error of a mean with magnitudes magnitude(j), summed over columns: one grid step per row and
/// unit of weight, the last place of the mean, and for fractional weights the step of their own grid.
template <class Magnitude>
double squared_rounding(const DataPlan& plan, int low_bits, const Magnitude& magnitude) {
  const Weights& weights = plan.weights;
  const double smallest = weights.integral ? 1.0 : weights.smallest;
  const double weight_step = weights.integral ? 0.0 : std::ldexp(1.0, -(weights.grid().shift + low_bits)) / smallest;
  double squares = 0.0;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    const double step = std::ldexp(1.0, -(plan.scales.shift[j] + low_bits)) / smallest;
    const double error = step + (0x1p-51 + weight_step) * magnitude(j);
    squares += error * error;
  }
  return squares;
}

using RowDistance = double (*)(const double* x, const double* c, std::int64_t d);

#if defined(__x86_64__)
__attribute__((target("avx2,fma"), flatten)) double distance_with_fma(const double* x, const double* c,
                                                                      std::int64_t d) {
  return squared_distance(x, c, d);
}
#endif

/// The definition for centroids. Without the instruction, each fma of a program for any processor is a call.
RowDistance centroid_distance() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return distance_with_fma;
#endif
  return squared_distance<double, double>;
}

}  // namespace

std::vector<Relabelling> choose_relocated(std::span<const FarRow> far, std::vector<std::int64_t>& counts,
                                          const RelocationRule& rule) {
  std::vector<Relabelling> chosen;
  auto next = far.begin();
  for (auto c = static_cast<std::size_t>(rule.first); c < counts.size(); ++c) {
    if (counts[c] != 0) continue;
    while (next != far.end() && counts[next->label] == 1) ++next;
    if (next == far.end() || !(next->distance > rule.on_centroid[next->label])) break;  // nor do the others move
    chosen.push_back({next->row, static_cast<std::int32_t>(c)});
    --counts[next->label];
    counts[c] = 1;
    ++next;
  }
  return chosen;
}

Relocation relocate_empty_clusters(Points& points, std::vector<std::int64_t>& counts, const RelocationRule& rule) {
  const std::int64_t empty = count_empty(counts, rule.first);
  if (empty == 0) return {};
  const std::vector<FarRow> far = points.farthest(far_rows(empty, std::ssize(counts)));
  const std::vector<Relabelling> chosen = choose_relocated(far, counts, rule);
  for (const Relabelling& row : chosen) points.relabel(row.row, row.label);
  return {std::ssize(chosen), empty - std::ssize(chosen)};
}

ClusterSums empty_sums(const DataPlan& plan, std::int64_t clusters) {
  ClusterSums sums(clusters, plan.columns, plan.scales.limbs);
  if (plan.weights.given()) sums.weights.resize(static_cast<std::size_t>(clusters));
  return sums;
}

std::vector<double> cluster_weights(const ClusterSums& sums, const std::vector<std::int64_t>& counts,
                                    const Weights& weights) {
  std::vector<double> totals(counts.begin(), counts.end());
  for (std::size_t c = 0; c < sums.weights.size(); ++c) totals[c] = total_weight(sums.weights[c], weights);
  return totals;
}

Matrix<double> centroids_of(const ClusterSums& sums, const std::vector<double>& weights, const ColumnScales& scales,
                            MatrixView<const double> before) {
  Matrix<double> centroids(before.rows, before.columns);
  const bool two_limbs = sums.limbs == 2;
  for (std::int64_t c = 0; c < before.rows; ++c) {
    if (weights[c] == 0) {
      std::copy(before.row(c).begin(), before.row(c).end(), centroids.row(c).begin());
      continue;
    }
    for (std::int64_t j = 0; j < before.columns; ++j) {
      const std::int64_t at = c * before.columns + j;
      const Limbs sum{sums.high[at], two_limbs ? sums.low[at] : 0};
      centroids(c, j) = mean_of(sum, scales.shift[j], two_limbs ? scales.low_bits : 0, weights[c]);
    }
  }
  return centroids;
}

double squared_shift(MatrixView<const double> after, MatrixView<const double> before) {
  const RowDistance distance = centroid_distance();
  double shift = 0.0;
  for (std::int64_t c = 0; c < after.rows; ++c) {
    shift += distance(after.row(c).data(), before.row(c).data(), after.columns);
  }
  return shift;
}

double objective_of(MatrixView<const double> centroids, const std::vector<double>& weights, const DataPlan& plan,
                    double spread) {
  const RowDistance distance = centroid_distance();
  double between = 0.0;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    between += weighted_distance(weights[c], distance(centroids.row(c).data(), plan.mean.data(), plan.columns));
  }
  return remaining_objective(spread, between);
}

double means_rounding(const DataPlan& plan) {
  const int low_bits =
      plan.weights.integral ? 0 : plan.scales.low_bits;  // with integral weights plan.mean has one limb
  const auto in_column = [&](std::int64_t j) { return magnitude(plan.range, j); };
  return squared_rounding(plan, low_bits, in_column) * plan.weights.total;
}

std::vector<double> distances_on_centroids(const DataPlan& plan, MatrixView<const double> centroids) {
  const int low_bits = plan.scales.limbs == 2 ? plan.scales.low_bits : 0;
  std::vector<double> largest;
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    largest.push_back(squared_rounding(plan, low_bits, [&](std::int64_t j) { return std::abs(centroids(c, j)); }));
  }
  return largest;
}

std::vector<double> distances_on_directions(const DataPlan& plan, MatrixView<const double> centroids) {
  const double rounding = 2 * definition_rounding(centroids.columns) + 0x1p-50;
  std::vector<double> largest = distances_on_centroids(plan, centroids);
  array(largest) = (2 * array(largest).sqrt() + rounding).square();
  return largest;
}

double objective_rounding(const DataPlan& plan, double spread, std::int64_t clusters) {
  const double means = means_rounding(plan);
  const double additions = static_cast<double>(clusters + plan.columns / kLanes + 8) * 0x1p-52;
  const double subnormal =
      std::max(plan.weights.total, static_cast<double>(plan.rows)) * static_cast<double>(plan.columns) * 0x1p-1072;
  return means + 2.0 * std::sqrt(means * spread) + additions * spread + subnormal;
}

namespace {

std::string name_of_iteration(std::int64_t iteration) {
  return iteration > 0 ? fmt::format("iteration {}", iteration) : "the last assignment";
}

}  // namespace

std::int64_t count_empty(const std::vector<std::int64_t>& counts, std::int64_t first) {
  return std::count(counts.begin() + first, counts.end(), 0);
}

std::int64_t drop_empty_clusters(Points& points, LloydState& state, std::int64_t first) {
  const auto clusters = static_cast<std::int64_t>(state.counts.size());
  std::vector<std::int32_t> number;  // (k) new number of each cluster
  std::vector<std::int64_t> counts;
  for (std::int64_t c = 0; c < clusters; ++c) {
    const bool stays = c < first || state.counts[c] > 0;
    number.push_back(static_cast<std::int32_t>(counts.size()));
    if (stays) counts.push_back(state.counts[c]);
  }
  const auto remaining = static_cast<std::int64_t>(counts.size());
  if (remaining == clusters) return 0;

  Matrix<double> centroids(remaining, state.centroids.columns());
  for (std::int64_t c = 0; c < clusters; ++c) {
    if (c >= first && state.counts[c] == 0) continue;
    const auto from = state.centroids.row(c);
    std::copy(from.begin(), from.end(), centroids.row(number[c]).begin());
  }
  UninitializedVector<std::int32_t> labels;
  labels.resize(points.rows());
  points.labels(labels);
  for (std::int32_t& label : labels) label = number[label];
  points.reset();
  points.set_labels(labels);
  state.centroids = std::move(centroids);
  state.counts = std::move(counts);
  const bool weighted = !state.sums.weights.empty();
  state.sums = ClusterSums(remaining, state.centroids.columns(), state.sums.limbs);
  if (weighted) state.sums.weights.resize(static_cast<std::size_t>(remaining));
  return clusters - remaining;
}

std::string dropped_message(std::int64_t dropped, const LloydState& state, std::int64_t iteration) {
  return fmt::format("{} left {} clusters without rows, which are dropped: {} clusters are left",
                     name_of_iteration(iteration), dropped, state.counts.size());
}

void refuse_empty_clusters(const std::vector<std::int64_t>& counts, std::int64_t first, std::int64_t iteration) {
  const auto empty = std::find(counts.begin() + first, counts.end(), 0) - counts.begin();
  throw Error(ExitCode::data,
              fmt::format("{} left {} of {} clusters without rows, of which cluster {} is the first; expected none",
                          name_of_iteration(iteration), count_empty(counts, first), counts.size(), empty),
              Cause::empty_clusters);
}

}  // namespace kith
