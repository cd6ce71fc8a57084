// The operations of k-means on all rows, and the passes over rows that are not in memory (docs/architecture.md).
#include "app/plan/work.h"

#include <cmath>

namespace kith::app {
namespace {

/// k-means|| of so many seeds: all rows are weighed by 1, 2 k + 1 and 4 k + 1 candidates.
std::vector<Work> parallel_seeding(std::int64_t seeds, std::int64_t runs) {
  Work first{.phase = "seed", .operation = Operation::assign, .times = runs, .size = 1, .passes = runs};
  Work second = first, third = first;
  second.size = 2 * seeds;
  third.size = 4 * seeds;
  return {first, second, third};
}

}  // namespace

Work preparing() { return {.phase = "prepare", .operation = Operation::prepare, .passes = 2}; }

Work simplified_silhouettes(std::int64_t clusters) {
  return {.phase = "score", .operation = Operation::measure, .size = clusters};
}

std::vector<Work> kmeans_work(const KMeansOptions& options) {
  const std::int64_t k = options.clusters, runs = options.runs, iterations = runs * options.max_iterations;
  const std::int64_t seeds = runs * (k - options.frozen.rows - options.known.rows);
  // The inertia around the mean, and with cosine around its direction.
  const std::int64_t spreads = options.metric == Metric::cosine ? 2 : 1;
  std::vector<Work> work{
      {.phase = "prepare", .operation = Operation::assign, .times = spreads, .size = 1, .passes = spreads}};
  const auto seed = [&](Operation operation, std::int64_t times, std::int64_t size, std::int64_t passes) {
    work.push_back({.phase = "seed", .operation = operation, .times = times, .size = size, .passes = passes});
  };
  if (seeds > 0 && options.init == Init::kmeans_plus_plus) {
    // Each seed is the best of its candidates: they are read, and then the chosen one.
    const auto candidates = static_cast<std::int64_t>(2 + std::floor(std::log(static_cast<double>(k))));
    seed(Operation::seed, seeds, candidates, 2 * seeds - runs);
  } else if (seeds > 0 && options.init == Init::kmeans_parallel) {
    const std::vector<Work> rounds = parallel_seeding(seeds / runs, runs);
    work.insert(work.end(), rounds.begin(), rounds.end());
  } else if (seeds > 0 && options.init == Init::farthest) {
    seed(Operation::seed, seeds, 1, seeds);
  }
  work.push_back({.phase = "iterate",
                  .operation = Operation::iterate,
                  .times = iterations,
                  .size = k,
                  .passes = iterations,
                  .at_most = true});
  // The nearest rows are those of the best run.
  work.push_back({.phase = "assign", .operation = Operation::finish, .times = runs, .size = k, .passes = runs + 1});
  return work;
}

std::vector<Work> with_parallel_seeding(const std::vector<Work>& work) {
  std::vector<Work> other;
  for (const Work& part : work) {
    const bool is_plus_plus = part.operation == Operation::seed && part.size > 1;
    const std::int64_t runs = 2 * part.times - part.passes;
    const std::vector<Work> parts = is_plus_plus ? parallel_seeding(part.times / runs, runs) : std::vector<Work>{part};
    other.insert(other.end(), parts.begin(), parts.end());
  }
  return other;
}

}  // namespace kith::app
