// Seeding on held points: the smallest distance of each row to the seeds so far, and draws by it.
#pragma once

#include <cstdint>
#include <span>

#include "core/numbers/fixed_point.h"
#include "core/points/matrix.h"
#include "core/points/point_set.h"

namespace kith {

/// Most seeding candidates of one trial. Greedy k-means++ has 2 + floor(ln k), 23 for the largest k.
inline constexpr int kMostCandidates = 32;

/// Operations of seeding. The kept distance of a row is the smallest D to any seed so far. Begins with reset().
class PointSeeding : public virtual PointSet {
 public:
  /// Kept distance = min(kept distance, D(x, seed)). Returns the largest kept distance afterwards. seed: (d)
  virtual double update_min_distance(std::span<const double> /*seed*/) { unsupported("seeding"); }
  /// Sum over rows of to_fixed(kept distance); here and below of weighted_fixed() if rows have weights.
  virtual std::int64_t total_min_distance(FixedScale) const { unsupported("seeding"); }
  /// rows[t] = the first row whose inclusive prefix sum of to_fixed(kept distance) exceeds targets[t]
  /// (0 <= target < total).
  virtual void draw_rows(FixedScale, std::span<const std::int64_t> /*targets*/,
                         std::span<std::int64_t> /*rows*/) const {
    unsupported("seeding");
  }
  /// ADDS to totals[t] the sum over rows of to_fixed(min(kept distance, D(x, candidate t))). candidates: (t, d), at
  /// most kMostCandidates. The points keep the candidates for commit_candidate().
  virtual void try_candidates(MatrixView<const double> /*candidates*/, FixedScale, std::span<std::int64_t> /*totals*/) {
    unsupported("seeding");
  }
  /// update_min_distance() for one of the candidates of the last try_candidates(). At most once per trial.
  virtual double commit_candidate(std::int64_t /*chosen*/) { unsupported("seeding"); }
};

}  // namespace kith
