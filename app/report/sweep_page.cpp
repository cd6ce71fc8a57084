// Curves and a table from the scores of a sweep.
#include "app/report/sweep_page.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "app/run/scores.h"
#include "core/error.h"
#include "pictures/pictures.h"

namespace kith::app {
namespace {

std::vector<double> values_of(const data::StoredResult& result, const char* dataset, std::size_t count) {
  std::vector<double> values = result.vector(dataset);
  if (values.size() == count) return values;
  throw Error(ExitCode::data, fmt::format("{}:/{}: expected {} values, one for each number of clusters, found {}; the "
                                          "file has been changed, sweep again",
                                          result.file(), dataset, count, values.size()));
}

pictures::Table table_of(const std::vector<double>& k, const std::vector<pictures::SweepCurve>& curves) {
  pictures::Table table{"Scores", {"clusters"}, {}, ""};
  for (const pictures::SweepCurve& curve : curves) table.head.push_back(curve.name);
  for (std::size_t i = 0; i < k.size(); ++i) {
    std::vector<std::string> row{fmt::format("{:.0f}", k[i])};
    for (const pictures::SweepCurve& curve : curves) {
      row.push_back(std::isfinite(curve.values[i]) ? fmt::format("{}", curve.values[i]) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

pictures::Page sweep_page(const data::StoredResult& result) {
  const std::vector<double> k = result.vector("k");
  const std::string command = result.text("command");
  std::vector<pictures::SweepCurve> curves;
  for (const Score& score : scores_for(ScoreUse::sweep)) {
    if (score.value == &Scores::gap_error || !result.has(score.name)) continue;
    const bool simplified =
        score.value == &Scores::silhouette && command.find(" --silhouette simplified") != command.npos;
    curves.push_back(
        {fmt::format("{}{}", simplified ? "simplified " : "", score.shown), values_of(result, score.name, k.size())});
  }
  pictures::Page page{
      fmt::format("{}: {} numbers of clusters", std::filesystem::path(result.file()).filename().string(), k.size()),
      {{"Command", fmt::format("kith {}", command)}},
      {},
      {},
      {}};
  const auto suggested = result.whole("suggested");
  const bool has_suggestion = suggested && *suggested > 0;
  if (has_suggestion) {
    page.facts.emplace_back("Suggestion", fmt::format("k = {}: {}", *suggested, result.text("reason")));
  }
  page.facts.emplace_back("Made by", fmt::format("kith {}", result.text("kith_version")));
  page.pictures.push_back(
      pictures::sweep(k, curves, has_suggestion ? std::optional(static_cast<double>(*suggested)) : std::nullopt));
  page.tables.push_back(table_of(k, curves));
  return page;
}

}  // namespace kith::app
