// Counts votes, and compares densities.
#include "core/neighbors/list_scores.h"

#include <algorithm>

namespace kith {

void ClassVotes::begin(VoteWeight weight) {
  for (const std::int32_t label : touched_) votes_[static_cast<std::size_t>(label)] = 0.0;
  touched_.clear();
  weight_ = weight;
  total_ = 0.0;
}

void ClassVotes::add(std::int32_t label, double distance) {
  if (touched_.empty()) {
    only_zero_ = distance == 0.0;
    winner_ = label;
  }
  double vote = 1.0;
  if (weight_ == VoteWeight::distance) vote = only_zero_ ? (distance == 0.0 ? 1.0 : 0.0) : 1.0 / distance;
  double& own = votes_[static_cast<std::size_t>(label)];
  touched_.push_back(label);
  own += vote;
  total_ += vote;
  const double most = votes_[static_cast<std::size_t>(winner_)];
  if (own > most || (own == most && label < winner_)) winner_ = label;
}

std::vector<double> local_outlier_factors(MatrixView<const std::int64_t> neighbors,
                                          MatrixView<const double> distances) {
  const std::int64_t n = neighbors.rows, k = neighbors.columns;
  std::vector<double> density(static_cast<std::size_t>(n)), factor(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    double reach = 0.0;
    for (std::int64_t j = 0; j < k; ++j) reach += std::max(distances(neighbors(i, j), k - 1), distances(i, j));
    density[static_cast<std::size_t>(i)] = 1.0 / (reach / static_cast<double>(k) + 1e-10);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    double ratios = 0.0;
    for (std::int64_t j = 0; j < k; ++j) {
      ratios += density[static_cast<std::size_t>(neighbors(i, j))] / density[static_cast<std::size_t>(i)];
    }
    factor[static_cast<std::size_t>(i)] = ratios / static_cast<double>(k);
  }
  return factor;
}

}  // namespace kith
