// Runs variants of k-means on held points, and writes their part of the result.
#include "app/cluster/variant_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/run/results.h"
#include "core/kmeans/label_result.h"

namespace kith::app {
namespace {

/// Replaces the labels by labels within the size limits, and updates all that depends on them.
void balance_sizes(HeldPoints& held, const RowStore& store, const KMeansOptions& options, const SizeLimits& sizes,
                   VariantRun& run, Observer& observer) {
  observer.phase("balance", 0);
  KMeansResult& result = run.result;
  check_limits(sizes, held.plan.rows, result.centroids.rows());
  const Balanced found =
      balance(*held.points, held.plan, store, {result.centroids.view(), result.labels, sizes}, options, observer);
  for (std::size_t i = 0; i < found.labels.size(); ++i) run.moved += found.labels[i] != result.labels[i] ? 1 : 0;
  run.balancing_steps = found.steps;
  if (!found.converged) {
    observer.warning(fmt::format("--balance: not converged after {} step{}; increase --max-iterations", found.steps,
                                 found.steps == 1 ? "" : "s"));
  }
  run.nearest_inertia = result.inertia;
  KMeansResult balanced = result_from_labels(*held.points, held.plan, found.labels, found.centroids.view(), options);
  result.centroids = std::move(balanced.centroids);
  result.labels = std::move(balanced.labels);
  result.distances = std::move(balanced.distances);
  result.counts = std::move(balanced.counts);
  result.inertia_per_cluster = std::move(balanced.inertia_per_cluster);
  result.nearest_row = std::move(balanced.nearest_row);
  result.medoids = std::move(balanced.medoids);
  result.inertia = balanced.inertia;
  result.empty_clusters = balanced.empty_clusters;
}

/// Warns of clusters for which is_beyond(count) is true.
template <class Beyond>
void warn_of_sizes(const KMeansResult& result, const std::string& limit, const Beyond& is_beyond, Job& job) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> violating;
  for (std::size_t c = 0; c < result.counts.size(); ++c) {
    if (is_beyond(result.counts[c])) violating.push_back(fmt::format("{} ({})", c, result.counts[c]));
  }
  if (violating.empty()) return;
  const std::size_t named = std::min(violating.size(), kMostNamed);
  job.progress.warning(fmt::format(
      "{}: {} of {} clusters violate it: {}{}; --balance keeps it", limit, violating.size(), result.counts.size(),
      fmt::join(violating.begin(), violating.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      named < violating.size() ? ", ..." : ""));
}

void warn_of_passes(const HeldPoints& held, const KMeansOptions& options, Job& job) {
  constexpr std::int64_t kFew = 10;
  if (!held.in_passes || options.init != Init::kmeans_plus_plus || options.given.rows > 0) return;
  const std::int64_t passes = kmeans_work(options).at(1).passes;
  if (passes <= kFew) return;
  job.progress.warning(
      fmt::format("k-means++ reads the rows that are not in memory {} times before the first "
                  "iteration; --init k-means|| reads them a few times, --init random once",
                  passes));
}

}  // namespace

bool is_plain(const VariantOptions& options) {
  return !options.is_bisecting() && options.batch == 0 && !(options.balance && options.sizes.given());
}

VariantRun run_variant(HeldPoints& held, const KMeansOptions& kmeans_options, const VariantOptions& options, Job& job) {
  const RowStore store(held.rows(), *held.backend);
  VariantRun run;
  KMeansOptions plain = kmeans_options;
  warn_of_passes(held, plain, job);
  if (options.batch > 0) {
    plain.batch = {.rows = options.batch, .epochs = options.epochs, .finish = !options.no_finish, .store = &store};
  }
  if (options.is_bisecting()) {
    const SplitBy by = options.bisect == "size" ? SplitBy::size : SplitBy::inertia;
    BisectingResult split = bisecting_kmeans(*held.points, store, held.plan, plain, by, job.progress);
    run.result = std::move(split.result);
    run.tree = std::move(split.tree);
  } else {
    run.result = kmeans(*held.points, held.plan, plain, job.progress);
  }
  if (!options.sizes.given()) return run;
  if (options.balance) {
    balance_sizes(held, store, plain, options.sizes, run, job.progress);
    return run;
  }
  const std::int64_t smallest = options.sizes.smallest, largest = options.sizes.largest;
  warn_of_sizes(
      run.result, fmt::format("--min-size {}", smallest), [&](std::int64_t count) { return count < smallest; }, job);
  warn_of_sizes(
      run.result, fmt::format("--max-size {}", largest),
      [&](std::int64_t count) { return largest > 0 && count > largest; }, job);
  return run;
}

std::string method_of(const VariantRun& run, const VariantOptions& options, std::int64_t rows) {
  std::vector<std::string> parts;
  if (options.batch > 0) {
    const std::int64_t batches = (rows + options.batch - 1) / options.batch * options.epochs;
    parts.push_back(
        fmt::format("{} batches of {} rows, {} epochs, {}", batches, std::min(options.batch, rows), options.epochs,
                    options.no_finish ? "without iterations over all rows" : "then iterations over all rows"));
  }
  if (options.is_bisecting()) {
    parts.push_back(fmt::format("bisecting by {}, {:g} splits; splits never exchange rows", options.bisect,
                                run.result.stopped_value));
  }
  if (options.balance && options.sizes.given()) {
    parts.push_back(fmt::format("{} rows moved to balance sizes, in {} step{}; the inertia was {} before", run.moved,
                                run.balancing_steps, run.balancing_steps == 1 ? "" : "s", run.nearest_inertia));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void write_variant(data::ResultFile& file, const VariantOptions& options, const VariantRun& run,
                   std::int64_t clusters) {
  const KMeansResult& result = run.result;
  if (empty_rule(options) == EmptyRule::drop) file.attribute("dropped_clusters", clusters - result.centroids.rows());
  if (!options.freeze.empty()) {
    file.attribute("freeze", stored_name(options.freeze));
    file.attribute("frozen", result.frozen);
  }
  if (options.medoids) file.dataset("medoids", result.medoids.view());
  if (options.batch > 0) {
    file.attribute("batch", options.batch);
    file.attribute("epochs", options.epochs);
  }
  if (options.is_bisecting()) {
    file.attribute("algorithm", options.algorithm);
    file.dataset("tree_parent", std::span<const std::int64_t>(run.tree.parent));
    file.dataset("tree_first_child", std::span<const std::int64_t>(run.tree.first_child));
    file.dataset("tree_cluster", std::span<const std::int64_t>(run.tree.cluster));
    file.dataset("tree_count", std::span<const std::int64_t>(run.tree.count));
    file.dataset("tree_inertia", std::span<const double>(run.tree.inertia));
  }
  if (options.balance && options.sizes.given()) {
    file.attribute("balanced_rows", run.moved);
    file.attribute("nearest_inertia", run.nearest_inertia);
  }
}

std::string progress_of(const KMeansResult& result, int runs) {
  if (runs == 1) return fmt::format("{} iteration{}", result.iterations, result.iterations == 1 ? "" : "s");
  const auto finished = [](const RunRecord& run) { return run.stopped_by != "interrupted"; };
  return fmt::format("{} of {} runs", std::count_if(result.runs.begin(), result.runs.end(), finished), runs);
}

}  // namespace kith::app
