// What comes out of a sweep over numbers of clusters: its rows, what the criteria say of them, and how both are shown.
#include "app/evaluate/sweep_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"

namespace kith::app {
namespace {

constexpr SweepColumn kColumns[] = {
    {"inertia", "inertia", [](const SweepRow& row) { return row.result.inertia; }},
    {"silhouette", "silhouette", [](const SweepRow& row) { return row.silhouette; }},
    {"calinski_harabasz", "Calinski-H.", [](const SweepRow& row) { return row.calinski_harabasz; }},
    {"davies_bouldin", "Davies-B.", [](const SweepRow& row) { return row.davies_bouldin; }},
    {"bic", "BIC", [](const SweepRow& row) { return row.bic; }},
    {"gap", "gap", [](const SweepRow& row) { return row.gap.value; }},
    {"gap_error", "error", [](const SweepRow& row) { return row.gap.error; }},
};

std::vector<double> values_of(const Sweep& sweep, double (*value)(const SweepRow&)) {
  std::vector<double> values;
  for (const SweepRow& row : sweep.rows) values.push_back(value(row));
  return values;
}

/// The place of the largest value; none where fewer than two are defined.
std::optional<std::size_t> largest(const std::vector<double>& values, double sign) {
  std::optional<std::size_t> best;
  int defined = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    ++defined;
    if (!best || sign * values[i] > sign * values[*best]) best = i;
  }
  return defined > 1 ? best : std::nullopt;
}

/// Up to ten marks, of a value between 0 and `most`.
std::string bar(double value, double most) {
  constexpr double kMarks = 10;
  const double share = most > 0.0 && value > 0.0 ? value / most : 0.0;
  return std::string(static_cast<std::size_t>(std::lround(kMarks * std::min(share, 1.0))), '#');
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-"; }

}  // namespace

std::vector<SweepColumn> columns_of(const Sweep& sweep) {
  const std::size_t with_gap = std::size(kColumns), without = with_gap - 2;
  return {kColumns, kColumns + (sweep.references > 0 ? with_gap : without)};
}

Suggestion suggestion_of(const Sweep& sweep) {
  Suggestion found;
  const auto prefer = [&](const std::string& name, std::optional<std::size_t> place) {
    if (place) found.criteria.emplace_back(name, sweep.rows[*place].clusters);
  };
  const std::string silhouette = sweep.silhouette + " silhouette";
  const auto best = largest(values_of(sweep, kColumns[1].value), 1);
  std::vector<double> counts;
  for (const SweepRow& row : sweep.rows) counts.push_back(static_cast<double>(row.clusters));
  const auto bend = knee(counts, values_of(sweep, kColumns[0].value));
  prefer(silhouette, best);
  prefer("knee of inertia", bend);
  prefer("Calinski-Harabasz", largest(values_of(sweep, kColumns[2].value), 1));
  prefer("Davies-Bouldin", largest(values_of(sweep, kColumns[3].value), -1));
  prefer("BIC", largest(values_of(sweep, kColumns[4].value), 1));
  if (sweep.references > 0) {
    std::vector<Gap> gaps;
    for (const SweepRow& row : sweep.rows) gaps.push_back(row.gap);
    prefer("gap statistic", gap_rule(gaps));
  }
  if (!best) return found;

  const SweepRow& row = sweep.rows[*best];
  found.clusters = row.clusters;
  found.reason = fmt::format("the best {}, {:.4g}", silhouette, row.silhouette);
  if (bend == best) found.reason += ", and the knee of inertia";
  if (*best + 1 == sweep.rows.size()) found.reason += "; it is the last one tried, so more clusters may be better";
  std::string others;
  for (const auto& [name, clusters] : found.criteria) {
    if (clusters != found.clusters) others += fmt::format("{}{} {}", others.empty() ? "" : ", ", name, clusters);
  }
  if (!others.empty()) {
    found.disagreement =
        fmt::format("the criteria disagree: {} {}, but {}; look at the table, and at the clusters themselves",
                    silhouette, found.clusters, others);
  }
  return found;
}

std::string show(const Sweep& sweep) {
  const std::vector<SweepColumn> columns = columns_of(sweep);
  TextTable table{{Align::right, Align::right}, {{"k", "iterations"}}};
  for (const SweepColumn& column : columns) table.rows[0].emplace_back(column.shown);
  table.columns.resize(table.rows[0].size(), Align::right);
  for (const char* bars : {"inertia", "silhouette"}) {
    table.rows[0].emplace_back(bars);
    table.columns.push_back(Align::left);
  }
  const std::vector<double> inertia = values_of(sweep, kColumns[0].value);
  const double most = *std::max_element(inertia.begin(), inertia.end());
  for (const SweepRow& row : sweep.rows) {
    std::vector<std::string> cells{std::to_string(row.clusters), std::to_string(row.result.iterations)};
    for (const SweepColumn& column : columns) cells.push_back(cell(column.value(row)));
    cells.push_back(bar(row.result.inertia, most));
    cells.push_back(bar(row.silhouette, 1.0));
    table.rows.push_back(std::move(cells));
  }
  return lay_out(table, text_width(Stream::output));
}

std::string csv_of(const Sweep& sweep) {
  const std::vector<SweepColumn> columns = columns_of(sweep);
  std::string out = "k,iterations,stopped_by";
  for (const SweepColumn& column : columns) out += fmt::format(",{}", column.name);
  out += "\n";
  for (const SweepRow& row : sweep.rows) {
    out += fmt::format("{},{},{}", row.clusters, row.result.iterations, row.result.stopped_by);
    for (const SweepColumn& column : columns) {
      const double value = column.value(row);
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
    for (const SweepColumn& column : columns_of(sweep)) line.scores.emplace_back(column.name, column.value(row));
    report.rows.push_back(std::move(line));
  }
  return report;
}

}  // namespace kith::app
