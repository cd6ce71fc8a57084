// The number of clusters that each criterion prefers; the suggestion is that of the silhouette.
#include "app/evaluate/suggestion.h"

#include <fmt/format.h>

#include <cmath>

#include "core/scores/internal_scores.h"

namespace kith::app {
namespace {

/// The place of the best value; none if fewer than two are defined.
std::optional<std::size_t> best_of(const std::vector<double>& values, bool higher_is_better) {
  const double sign = higher_is_better ? 1.0 : -1.0;
  std::optional<std::size_t> best;
  int defined = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    ++defined;
    if (!best || sign * values[i] > sign * values[*best]) best = i;
  }
  return defined > 1 ? best : std::nullopt;
}

/// What the criterion of a score is called.
std::string criterion(const SweepScores& scores, const Score& score) {
  if (score.value == &Scores::inertia) return "knee of inertia";
  return score.value == &Scores::gap ? "gap statistic" : scores.name(score);
}

}  // namespace

std::vector<double> SweepScores::values(double Scores::*score) const {
  for (const auto& [other, values] : columns) {
    if (other.value == score) return values;
  }
  return {};
}

std::string SweepScores::name(const Score& score) const {
  return score.value == &Scores::silhouette ? silhouette + " silhouette" : score.shown;
}

std::optional<std::size_t> preferred(const SweepScores& scores, const Score& score) {
  const std::vector<double> values = scores.values(score.value);
  if (score.value == &Scores::inertia) return knee(scores.clusters, values);
  if (score.value == &Scores::gap_error) return std::nullopt;
  if (score.value != &Scores::gap) return best_of(values, score.higher_is_better);
  const std::vector<double> errors = scores.values(&Scores::gap_error);
  if (errors.size() != values.size()) return std::nullopt;
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < values.size(); ++i) gaps.push_back({values[i], errors[i]});
  return gap_rule(gaps);
}

Suggestion suggestion_of(const SweepScores& scores) {
  Suggestion suggestion;
  std::optional<std::size_t> best, bend;
  std::string silhouette;
  const auto add = [&](const Score& score) {
    const auto place = preferred(scores, score);
    if (score.value == &Scores::silhouette) {
      best = place;
      silhouette = scores.name(score);
    }
    if (score.value == &Scores::inertia) bend = place;
    if (!place) return;
    suggestion.criteria.emplace_back(criterion(scores, score), static_cast<std::int64_t>(scores.clusters[*place]));
  };
  for (const auto& [score, values] : scores.columns) {
    if (score.value == &Scores::silhouette) add(score);
  }
  for (const auto& [score, values] : scores.columns) {
    if (score.value != &Scores::silhouette) add(score);
  }
  if (!best) return suggestion;

  suggestion.clusters = static_cast<std::int64_t>(scores.clusters[*best]);
  suggestion.reason = fmt::format("the best {}, {:.4g}", silhouette, scores.values(&Scores::silhouette)[*best]);
  if (bend == best) suggestion.reason += ", and the knee of inertia";
  if (*best + 1 == scores.clusters.size())
    suggestion.reason += "; it is the largest number tried, so more clusters may be better";
  std::string others;
  for (const auto& [name, clusters] : suggestion.criteria) {
    if (clusters != suggestion.clusters) others += fmt::format("{}{} {}", others.empty() ? "" : ", ", name, clusters);
  }
  if (!others.empty()) {
    suggestion.disagreement = fmt::format("the criteria disagree: {} {}, but {}; compare the table and the clusters",
                                          silhouette, suggestion.clusters, others);
  }
  return suggestion;
}

}  // namespace kith::app
