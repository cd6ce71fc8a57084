// Cluster sizes within limits at the lowest cost: rows are assigned within the limits, centroids become the means of
// their rows, and both again until no label changes, as in k-means.
//
// The constrained assignment of P. S. Bradley, K. P. Bennett, A. Demiriz: Constrained k-means clustering (2000). It is
// exact (core/kmeans/size_assignment.h) up to kExactCosts rows x clusters. Beyond that the prices of the clusters come
// from an exact assignment of a random sample; they give every row its label, and the rows that they decide by the
// smallest difference are assigned within what the others leave of the limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/points/backend.h"
#include "core/points/row_store.h"

namespace kith {

struct SizeLimits {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;  // 0: no limit
  bool given() const { return smallest > 0 || largest > 0; }
};

/// The largest number of rows x clusters whose assignment is always exact; with more than 1024 clusters up to four
/// times as many are. Tests set fewer.
inline constexpr std::int64_t kExactCosts = std::int64_t{1} << 25;

/// Bytes of host memory that balance() takes. row_bytes: the size of one row.
std::int64_t balance_bytes(std::int64_t rows, std::int64_t clusters, std::int64_t row_bytes);

/// Throws Error(usage) if no assignment of `rows` rows to `clusters` clusters keeps the limits.
void check_limits(const SizeLimits& limits, std::int64_t rows, std::int64_t clusters);

struct BalanceRequest {
  MatrixView<const double> centroids;    // (k, d) at the start
  std::span<const std::int32_t> labels;  // (n) of the nearest of these
  SizeLimits limits;                     // that check_limits() accepts
  std::int64_t exact_costs = kExactCosts;
};

struct Balanced {
  std::vector<std::int32_t> labels;  // (n) within the limits
  Matrix<double> centroids;          // (k, d) that the labels were assigned to; their means are at least as good
  std::int64_t steps = 0;            // assignments that changed labels
  bool converged = false;            // a further step would change no label, or lower the cost by less
};

/// Ends when no label changes, when a step lowers the cost by less than a ten-thousandth, or after
/// options.max_iterations steps. The points hold other labels afterwards. store: of the rows of the points.
Balanced balance(Points& points, const DataPlan& plan, const RowStore& store, const BalanceRequest& request,
                 const KMeansOptions& options, Observer& observer);

}  // namespace kith
