// Counts clusters without rows, removes them, or ends the run.
#include "core/kmeans/empty_clusters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/runtime/large_pages.h"

namespace kith {
namespace {

std::string name_of_iteration(std::int64_t iteration) {
  return iteration > 0 ? fmt::format("iteration {}", iteration) : "the last assignment";
}

}  // namespace

std::int64_t count_empty(const std::vector<std::int64_t>& counts, std::int64_t first) {
  return std::count(counts.begin() + first, counts.end(), 0);
}

std::int64_t drop_empty_clusters(Points& points, LloydState& state, std::int64_t first) {
  const auto clusters = static_cast<std::int64_t>(state.counts.size());
  std::vector<std::int32_t> number;  // (k) new number of each cluster
  std::vector<std::int64_t> counts;
  for (std::int64_t c = 0; c < clusters; ++c) {
    const bool stays = c < first || state.counts[c] > 0;
    number.push_back(static_cast<std::int32_t>(counts.size()));
    if (stays) counts.push_back(state.counts[c]);
  }
  const auto remaining = static_cast<std::int64_t>(counts.size());
  if (remaining == clusters) return 0;

  Matrix<double> centroids(remaining, state.centroids.columns());
  for (std::int64_t c = 0; c < clusters; ++c) {
    if (c >= first && state.counts[c] == 0) continue;
    const auto from = state.centroids.row(c);
    std::copy(from.begin(), from.end(), centroids.row(number[c]).begin());
  }
  UninitializedVector<std::int32_t> labels;
  labels.resize(points.rows());
  points.labels(labels);
  for (std::int32_t& label : labels) label = number[label];
  points.reset();
  points.set_labels(labels);
  state.centroids = std::move(centroids);
  state.counts = std::move(counts);
  const bool weighted = !state.sums.weights.empty();
  state.sums = ClusterSums(remaining, state.centroids.columns(), state.sums.limbs);
  if (weighted) state.sums.weights.resize(static_cast<std::size_t>(remaining));
  return clusters - remaining;
}

std::string dropped_message(std::int64_t dropped, const LloydState& state, std::int64_t iteration) {
  return fmt::format("{} left {} clusters without rows, which are dropped: {} clusters are left",
                     name_of_iteration(iteration), dropped, state.counts.size());
}

void refuse_empty_clusters(const std::vector<std::int64_t>& counts, std::int64_t first, std::int64_t iteration) {
  const auto empty = std::find(counts.begin() + first, counts.end(), 0) - counts.begin();
  throw Error(ExitCode::data,
              fmt::format("{} left {} of {} clusters without rows, of which cluster {} is the first; expected none",
                          name_of_iteration(iteration), count_empty(counts, first), counts.size(), empty),
              Cause::empty_clusters);
}

}  // namespace kith
