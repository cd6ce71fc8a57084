// What lists of neighbours say about rows: their class by votes, and how far outside they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "core/points/matrix.h"

namespace kith {

/// How the neighbours of a row vote: each counts 1, or 1 / distance; then, if some are at distance 0, only these count.
enum class VoteWeight { equal, distance };

/// Votes of neighbours, one after another, nearest first. Ties go to the lowest class.
class ClassVotes {
 public:
  explicit ClassVotes(std::int64_t classes) : votes_(static_cast<std::size_t>(classes), 0.0) {}
  /// Forgets all votes.
  void begin(VoteWeight weight);
  void add(std::int32_t label, double distance);
  /// The class with the most votes so far, and its share of all; at least one neighbour must have voted.
  std::int32_t winner() const { return winner_; }
  double share() const { return votes_[static_cast<std::size_t>(winner_)] / total_; }

 private:
  std::vector<double> votes_;          // (classes)
  std::vector<std::int32_t> touched_;  // classes with votes
  VoteWeight weight_ = VoteWeight::equal;
  bool only_zero_ = false;  // the first neighbour is at distance 0
  std::int32_t winner_ = 0;
  double total_ = 0.0;
};

// The local outlier factor: how much sparser a row's surroundings are than those of its neighbours (M. Breunig,
// H.-P. Kriegel, R. Ng, J. Sander: LOF: Identifying Density-Based Local Outliers, 2000).

/// neighbors, distances: (n, k) the neighbours of each row without itself, ascending. Returns (n) factors: about 1
/// inside a cluster, larger for outliers. As scikit-learn, 1e-10 is added to mean reachabilities, so that repeated rows
/// have a finite density.
std::vector<double> local_outlier_factors(MatrixView<const std::int64_t> neighbors, MatrixView<const double> distances);

}  // namespace kith
