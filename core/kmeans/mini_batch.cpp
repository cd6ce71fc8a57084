// Batches of shuffled rows, and the update of centroids towards the means of each batch.
#include "core/kmeans/mini_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/kmeans/update.h"
#include "core/numbers/maps.h"
#include "core/numbers/philox.h"

namespace kith {
namespace {

/// Sums and counts of the clusters of one batch.
struct BatchSums {
  ClusterSums sums;
  std::vector<std::int64_t> counts;
};

BatchSums sums_of(std::span<const std::int64_t> rows, MatrixView<const double> centroids, const DataPlan& plan,
                  const RowStore& store) {
  const RowSubset batch = store.hold(rows);
  batch.points->prepare(plan);
  Assignment assignment(centroids.rows);
  batch.points->assign({centroids}, assignment);
  const auto counted = std::accumulate(assignment.counts.begin(), assignment.counts.end(), std::int64_t{0});
  if (counted != std::ssize(rows)) {
    throw Error(ExitCode::internal,
                fmt::format("the assignment counted {} of the {} rows of a batch: the device or the memory is faulty",
                            counted, rows.size()),
                Cause::faulty_hardware);
  }
  BatchSums result{empty_sums(plan, centroids.rows), std::move(assignment.counts)};
  batch.points->update_sums(result.sums);
  return result;
}

}  // namespace

std::vector<std::int64_t> epoch_order(std::int64_t rows, std::int64_t epoch, RandomStream random) {
  constexpr std::uint64_t kFirstDraw = std::uint64_t{1} << 62;  // above the draws of every initialisation
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t draw = kFirstDraw + static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t other =
        i + random_below(random.seed, random.stream, draw + static_cast<std::uint64_t>(i), rows - i);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

void run_mini_batches(Matrix<double>& centroids, const DataPlan& plan, const BatchRule& rule, Observer& observer,
                      BatchPlace* place) {
  BatchPlace unkept;
  BatchState& at = place != nullptr ? place->state : unkept.state;
  const std::int64_t per_epoch = (plan.rows + rule.batch.rows - 1) / rule.batch.rows;
  observer.phase("batches", per_epoch * rule.batch.epochs);
  std::vector<std::int64_t>& seen = at.seen;
  seen.resize(static_cast<std::size_t>(centroids.rows()), 0);
  for (std::int64_t epoch = at.done / per_epoch; epoch < rule.batch.epochs; ++epoch) {
    std::vector<std::int64_t> order = epoch_order(plan.rows, epoch, rule.random);
    for (std::int64_t b = at.done % per_epoch; b < per_epoch; ++b) {
      observer.progress(epoch * per_epoch + b);
      const std::int64_t first = b * rule.batch.rows, count = std::min(rule.batch.rows, plan.rows - first);
      const std::span<std::int64_t> rows(order.data() + first, static_cast<std::size_t>(count));
      std::sort(rows.begin(), rows.end());  // memory order is faster; the sums do not depend on it
      const BatchSums batch = sums_of(rows, centroids.view(), plan, *rule.batch.store);
      Matrix<double> moved = centroids_of(batch.sums, cluster_weights(batch.sums, batch.counts, plan.weights),
                                          plan.scales, centroids.view());
      for (std::int64_t c = rule.frozen; c < centroids.rows(); ++c) {
        const std::int64_t received = batch.counts[static_cast<std::size_t>(c)];
        seen[static_cast<std::size_t>(c)] += received;
        if (received == 0) continue;
        const double rate = static_cast<double>(received) / static_cast<double>(seen[static_cast<std::size_t>(c)]);
        const auto before = array(centroids.row(c));
        array(moved.row(c)) = before + rate * (array(moved.row(c)) - before);
      }
      if (takes_directions(rule.metric)) normalize_means(moved.view(), centroids.view());
      std::copy_n(centroids.data(), rule.frozen * centroids.columns(), moved.data());
      centroids = std::move(moved);
      ++at.done;
      if (place != nullptr && place->after_batch()) return;
    }
  }
}

}  // namespace kith
