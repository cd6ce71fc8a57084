// Chooses between the screen against all centroids and the local screen, by their costs on the data at hand.
#pragma once

#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Sorting and packing a centroid for the rows of another, in products.
inline constexpr double kColumnCost = 250;

/// Whether an assignment is large enough to choose: small ones are over before a choice pays.
template <class T>
bool local_screen_is_possible(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMinClusters = 32, kMinWork = std::int64_t{1} << 26;
  if (held.forced.local_screen) return clusters > 1;
  return clusters >= kMinClusters && held.rows() * held.columns() >= kMinWork / clusters;
}

/// The cost per screened row of an assignment that screened all centroids.
double global_cost(const Assignment& result);

/// The expected cost per row of the local screen if `rows` rows are screened, estimated with a sample of rows whose
/// labels are their nearest centroids or near those.
template <class T>
double local_cost(const HeldRows<T>& held, MatrixView<const double> centroids, std::int64_t rows);

}  // namespace kith::cpu
