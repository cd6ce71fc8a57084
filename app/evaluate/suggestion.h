// Which number of clusters the scores of a sweep prefer, and the one to suggest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/run/results.h"

namespace kith::app {

/// The scores of each number of clusters.
struct SweepScores {
  std::vector<double> clusters;                                // ascending
  std::vector<std::pair<Score, std::vector<double>>> columns;  // a value for each number of clusters; NaN: none
  std::string silhouette;                                      // "simplified" or "exact"

  /// The values of a score; none if it was not computed.
  std::vector<double> values(double Scores::*score) const;
  /// The name for people: that of the silhouette says which kind it is.
  std::string name(const Score& score) const;
};

/// The place of the number of clusters that a score prefers: of the inertia its knee, of the gap the first that is at
/// least the next one minus its error, else the best value. None if there is no such place.
std::optional<std::size_t> preferred(const SweepScores& scores, const Score& score);

struct Suggestion {
  std::vector<std::pair<std::string, std::int64_t>> criteria;  // the number of clusters that each criterion prefers
  std::int64_t clusters = 0;                                   // 0: no silhouette is defined
  std::string reason;
  std::string disagreement;  // a warning; empty: all criteria agree
};
Suggestion suggestion_of(const SweepScores& scores);

}  // namespace kith::app
