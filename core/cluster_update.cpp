// Relocation of empty clusters and the centroids' update from integer sums.
#include "core/cluster_update.h"

#include <algorithm>
#include <cmath>

#include "core/distance.h"

namespace kith {

Relocation relocate_empty_clusters(Points& points, std::vector<std::int64_t>& counts, double on_centroid) {
  Relocation done;
  const auto empty = std::count(counts.begin(), counts.end(), 0);
  if (empty == 0) return done;
  // Each cluster can hold back one row, its last, so this many rows are enough.
  const std::vector<FarRow> far = points.farthest(empty + static_cast<std::int64_t>(counts.size()));
  auto next = far.begin();
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] != 0) continue;
    while (next != far.end() && counts[next->label] == 1) ++next;
    if (next == far.end() || !(next->distance > on_centroid)) {
      ++done.unfilled;
      continue;
    }
    points.relabel(next->row, static_cast<std::int32_t>(c));
    --counts[next->label];
    counts[c] = 1;
    ++done.filled;
    ++next;
  }
  return done;
}

Matrix<double> centroids_of(const ClusterSums& sums, const std::vector<std::int64_t>& counts,
                            const ColumnScales& scales, MatrixView<const double> before) {
  Matrix<double> centroids(before.rows, before.columns);
  for (std::int64_t c = 0; c < before.rows; ++c) {
    const std::int64_t at = c * before.columns;
    const double count = static_cast<double>(counts[c]);
    if (counts[c] == 0) {
      std::copy(before.row(c).begin(), before.row(c).end(), centroids.row(c).begin());
    } else if (sums.limbs == 1) {
      for (std::int64_t j = 0; j < before.columns; ++j) {
        centroids(c, j) = from_fixed(sums.high[at + j], scales.shift[j]) / count;
      }
    } else {
      for (std::int64_t j = 0; j < before.columns; ++j) {
        centroids(c, j) = from_limbs({sums.high[at + j], sums.low[at + j]}, scales.shift[j], scales.low_bits) / count;
      }
    }
  }
  return centroids;
}

double squared_shift(MatrixView<const double> after, MatrixView<const double> before) {
  double shift = 0.0;
  for (std::int64_t c = 0; c < after.rows; ++c) {
    shift += squared_distance(after.row(c).data(), before.row(c).data(), after.columns);
  }
  return shift;
}

double objective_rounding(const DataPlan& plan) {
  double squares = 0.0;
  for (std::int64_t j = 0; j < plan.columns; ++j) {
    const double magnitude = std::max(std::abs(plan.range.minimum[j]), std::abs(plan.range.maximum[j]));
    const double step = std::ldexp(1.0, -plan.scales.shift[j]) + 0x1p-51 * magnitude;
    squares += step * step;
  }
  return squares * static_cast<double>(plan.rows);
}

}  // namespace kith
