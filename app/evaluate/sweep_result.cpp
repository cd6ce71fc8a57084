// Suggests a number of clusters, and formats sweeps as tables, CSV and reports.
#include "app/evaluate/sweep_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"

namespace kith::app {
namespace {

std::vector<double> values_of(const Sweep& sweep, double Scores::*value) {
  std::vector<double> values;
  for (const SweepRow& row : sweep.rows) values.push_back(row.scores.*value);
  return values;
}

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

bool is_gap(const Score& score) { return score.value == &Scores::gap || score.value == &Scores::gap_error; }

/// Up to ten marks, of a value between 0 and `most`.
std::string bar(double value, double most) {
  constexpr double kMarks = 10;
  const double share = most > 0.0 && value > 0.0 ? value / most : 0.0;
  return std::string(static_cast<std::size_t>(std::lround(kMarks * std::min(share, 1.0))), '#');
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-"; }

}  // namespace

std::vector<Score> scores_of(const Sweep& sweep) {
  std::vector<Score> scores = scores_for(ScoreUse::sweep);
  if (sweep.references == 0) std::erase_if(scores, is_gap);
  return scores;
}

Suggestion suggestion_of(const Sweep& sweep) {
  Suggestion suggestion;
  const auto prefer = [&](const std::string& name, std::optional<std::size_t> place) {
    if (place) suggestion.criteria.emplace_back(name, sweep.rows[*place].clusters);
  };
  const std::string silhouette = sweep.silhouette + " silhouette";
  const auto best = best_of(values_of(sweep, &Scores::silhouette), true);
  std::vector<double> counts;
  for (const SweepRow& row : sweep.rows) counts.push_back(static_cast<double>(row.clusters));
  const auto bend = knee(counts, values_of(sweep, &Scores::inertia));
  prefer(silhouette, best);
  prefer("knee of inertia", bend);
  for (const Score& score : scores_of(sweep)) {
    if (score.value == &Scores::inertia || score.value == &Scores::silhouette || is_gap(score)) continue;
    prefer(score.shown, best_of(values_of(sweep, score.value), score.higher_is_better));
  }
  if (sweep.references > 0) {
    std::vector<Gap> gaps;
    for (const SweepRow& row : sweep.rows) gaps.push_back({row.scores.gap, row.scores.gap_error});
    prefer("gap statistic", gap_rule(gaps));
  }
  if (!best) return suggestion;

  const SweepRow& row = sweep.rows[*best];
  suggestion.clusters = row.clusters;
  suggestion.reason = fmt::format("the best {}, {:.4g}", silhouette, row.scores.silhouette);
  if (bend == best) suggestion.reason += ", and the knee of inertia";
  if (*best + 1 == sweep.rows.size())
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

std::string show(const Sweep& sweep) {
  const std::vector<Score> scores = scores_of(sweep);
  TextTable table{{Align::right, Align::right}, {{"k", "iterations"}}};
  for (const Score& score : scores) table.rows[0].emplace_back(score.heading);
  table.columns.resize(table.rows[0].size(), Align::right);
  for (const char* bars : {"inertia", "silhouette"}) {
    table.rows[0].emplace_back(bars);
    table.columns.push_back(Align::left);
  }
  const std::vector<double> inertia = values_of(sweep, &Scores::inertia);
  const double most = *std::max_element(inertia.begin(), inertia.end());
  for (const SweepRow& row : sweep.rows) {
    std::vector<std::string> cells{std::to_string(row.clusters), std::to_string(row.result.iterations)};
    for (const Score& score : scores) cells.push_back(cell(row.scores.*score.value));
    cells.push_back(bar(row.result.inertia, most));
    cells.push_back(bar(row.scores.silhouette, 1.0));
    table.rows.push_back(std::move(cells));
  }
  return lay_out(table, text_width(Stream::output));
}

std::string csv_of(const Sweep& sweep) {
  const std::vector<Score> scores = scores_of(sweep);
  std::string out = "k,iterations,stopped_by";
  for (const Score& score : scores) out += fmt::format(",{}", score.name);
  out += "\n";
  for (const SweepRow& row : sweep.rows) {
    out += fmt::format("{},{},{}", row.clusters, row.result.iterations, row.result.stopped_by);
    for (const Score& score : scores) {
      const double value = row.scores.*score.value;
      out += std::isfinite(value) ? fmt::format(",{}", value) : ",";
    }
    out += "\n";
  }
  return out;
}

SweepReport report_of(const Sweep& sweep, const Suggestion& suggestion) {
  SweepReport report{sweep.silhouette, suggestion.clusters, suggestion.reason, suggestion.criteria, {}};
  for (const SweepRow& row : sweep.rows) {
    SweepReport::Row line{row.clusters, row.result.iterations, row.result.stopped_by, {}};
    for (const Score& score : scores_of(sweep)) line.scores.emplace_back(score.name, row.scores.*score.value);
    report.rows.push_back(std::move(line));
  }
  return report;
}

}  // namespace kith::app
