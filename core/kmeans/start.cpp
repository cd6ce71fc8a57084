// The initial centroids of a run.
#include "core/kmeans/kmeans.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace kith {
namespace {

void warn_of_duplicates(MatrixView<const double> centroids, Observer& observer) {
  std::vector<std::int64_t> order(centroids.rows);
  std::iota(order.begin(), order.end(), 0);
  const auto row = [&](std::int64_t c) { return centroids.row(c); };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
  });
  std::int64_t repeated = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    repeated += std::equal(row(order[i]).begin(), row(order[i]).end(), row(order[i - 1]).begin());
  }
  if (repeated > 0)
    observer.warning(fmt::format("{} of {} initial centroids repeat another one", repeated, centroids.rows));
}

}  // namespace

Init default_init(std::int64_t rows, std::int64_t columns, std::int64_t clusters) {
  constexpr std::int64_t kManyValues = std::int64_t{1} << 33;
  constexpr std::int64_t kManyProducts = std::int64_t{1} << 30;
  constexpr std::int64_t kManyClusters = 64;
  const std::int64_t values = checked_product(rows, columns, "points");
  const bool is_long = clusters >= kManyClusters && values > (kManyProducts - 1) / clusters;
  return values >= kManyValues || is_long ? Init::kmeans_parallel : Init::kmeans_plus_plus;
}

void check_start(const DataPlan& plan, const KMeansOptions& options) {
  if (options.clusters < 1 || options.clusters > plan.rows) {
    throw Error(ExitCode::usage,
                fmt::format("k = {} clusters: expected 1 to {}, the number of rows", options.clusters, plan.rows));
  }
  if (options.clusters > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ExitCode::usage, fmt::format("k = {} clusters: expected at most {}, since labels are 32-bit",
                                             options.clusters, std::numeric_limits<std::int32_t>::max()));
  }
  const std::int64_t others = options.clusters - options.frozen.rows;
  if (others < 0 || (options.frozen.rows > 0 && options.frozen.columns != plan.columns)) {
    throw Error(ExitCode::usage,
                fmt::format("frozen centroids: expected at most {} x {} (clusters, columns), found "
                            "{} x {}",
                            options.clusters, plan.columns, options.frozen.rows, options.frozen.columns));
  }
  if (options.init == Init::given && (options.given.rows != others || options.given.columns != plan.columns)) {
    const char* beside = options.frozen.rows > 0 ? " that are not frozen" : "";
    throw Error(ExitCode::usage, fmt::format("initial centroids: expected {} x {} (clusters{}, columns), found {} x {}",
                                             others, plan.columns, beside, options.given.rows, options.given.columns));
  }
  if (options.known.rows > 0 && (options.frozen.rows > 0 || options.init == Init::given ||
                                 options.known.rows > options.clusters || options.known.columns != plan.columns)) {
    throw Error(ExitCode::usage,
                fmt::format("known centroids: expected at most {} x {} (clusters, columns), none of them "
                            "frozen or given, found {} x {}",
                            options.clusters, plan.columns, options.known.rows, options.known.columns));
  }
  if (options.frozen.rows > 0) inertia_scale(plan, options.frozen);  // throws if they are too far away
}

Matrix<double> first_centroids(Points& points, const DataPlan& plan, const KMeansOptions& options, int run,
                               Observer& observer, SeedingPlace* place) {
  observer.phase("seed", options.clusters);
  Matrix<double> centroids(options.clusters, points.columns());
  const RandomStream random{options.seed, static_cast<std::uint64_t>(options.first_run + run)};
  const MatrixView<const double> chosen = options.frozen.rows > 0 ? options.frozen : options.known;
  const MatrixView<double> there = centroids.view().middle(0, chosen.rows);
  const MatrixView<double> others = centroids.view().middle(there.rows, options.clusters - there.rows);
  std::copy_n(chosen.data, there.size(), there.data);
  if (takes_directions(options.metric)) normalize_centroids(there, "frozen centroids");
  if (options.init == Init::given) {
    std::copy_n(options.given.data, others.size(), others.data);
  } else {
    std::vector<std::int64_t> rows(others.rows);
    if (options.init == Init::kmeans_plus_plus) {
      rows = greedy_kmeans_plus_plus(points, plan.weights, others.rows, random, observer, there, place);
    } else if (options.init == Init::kmeans_parallel) {
      rows = kmeans_parallel(points, plan, others.rows, random, observer, there, place);
    } else if (options.init == Init::farthest) {
      rows = farthest_first_traversal(points, plan.weights, others.rows, random, observer, there, place);
    } else if (options.init == Init::random) {
      rows = random_rows(points.rows(), others.rows, random);
    } else {
      std::iota(rows.begin(), rows.end(), 0);
    }
    if (place != nullptr && place->ended) return {};
    points.copy_rows(rows, others);
  }
  if (takes_directions(options.metric)) normalize_centroids(centroids.view(), "initial centroids");
  const bool may_repeat = options.init == Init::given || options.init == Init::random || options.init == Init::first;
  if (may_repeat && run == 0) warn_of_duplicates(centroids.view(), observer);
  return centroids;
}

}  // namespace kith
