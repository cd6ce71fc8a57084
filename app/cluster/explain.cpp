// Computes and prints explanations from centroids, means and deviations.
#include "app/cluster/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "core/kmeans/cluster_means.h"
#include "core/preparation/column_deviation.h"

namespace kith::app {

std::vector<Explanation> explain(const KMeansResult& result, const HeldPoints& held,
                                 const std::vector<std::string>& names, Metric metric, std::size_t most) {
  const DataPlan& plan = held.plan;
  const std::vector<double> deviations = column_deviations(held.rows(), plan);
  const bool has_names = std::ssize(names) == plan.columns;
  const std::vector<double> weights =
      result.weights.empty() ? std::vector<double>(result.counts.begin(), result.counts.end()) : result.weights;
  const Matrix<double> means = cluster_means(result.centroids.view(), metric, weights, result.inertia_per_cluster);
  std::vector<Explanation> all;
  for (std::int64_t c = 0; c < result.centroids.rows(); ++c) {
    if (result.counts[c] == 0) continue;
    std::vector<Explanation> columns;
    for (std::int64_t j = 0; j < plan.columns; ++j) {
      const double centroid = means(c, j), difference = (centroid - plan.mean[j]) / deviations[j];
      if (!(deviations[j] > 0.0) || difference == 0.0) continue;
      columns.push_back({c, has_names ? names[j] : std::to_string(j + 1), centroid, plan.mean[j], difference});
    }
    std::stable_sort(columns.begin(), columns.end(), [](const Explanation& a, const Explanation& b) {
      return std::abs(a.difference) > std::abs(b.difference);
    });
    columns.resize(std::min(columns.size(), most));
    all.insert(all.end(), columns.begin(), columns.end());
  }
  return all;
}

std::string explanation_table(const std::vector<Explanation>& explanations, const std::vector<std::int64_t>& counts) {
  TextTable table{{Align::right, Align::right, Align::left, Align::right, Align::right, Align::right},
                  {{"cluster", "points", "column", "centroid", "all points", "deviations"}},
                  3};
  std::int64_t last = -1;
  for (const Explanation& e : explanations) {
    const bool is_new = e.cluster != last;
    last = e.cluster;
    table.rows.push_back({is_new ? std::to_string(e.cluster) : "", is_new ? std::to_string(counts[e.cluster]) : "",
                          visible(e.column), fmt::format("{:.6g}", e.centroid), fmt::format("{:.6g}", e.mean),
                          fmt::format("{:+.2f}", e.difference)});
  }
  return lay_out(table, text_width(Stream::output));
}

}  // namespace kith::app
