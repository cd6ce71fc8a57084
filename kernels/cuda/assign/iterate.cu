// Iterations with centroids and sums on the device: assignment, sums, new centroids. The host downloads only the inputs
// of the stop rules. Several devices do so in step.
//
// Besides the screen an iteration moves 8 bytes of labels per row, the reassigned rows, and k d sums and centroids:
// 0.02 ms for 10^6 rows and k d = 10^5 when few rows are reassigned, plus one wait. With several devices each reads its
// share of the sums from all, and writes its share of the centroids to all: 2 k d words over its link in all.
#include "kernels/cuda/assign/iterate.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/runtime/clock.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

constexpr double kMostSeconds = 0.5;  // before control returns to the caller, which costs k d numbers up and down

/// The sum of the rows of a cluster in one column; at: cluster x d + column.
__device__ Limbs sum_at(const ShardTotals& totals, bool two_limbs, std::int64_t at) {
  Word high = 0, low = 0;
  for (int p = 0; p < totals.shards; ++p) {
    high += totals.sums[p][at];
    if (two_limbs) low += totals.sums[p][totals.cells + at];
  }
  return {static_cast<std::int64_t>(high), static_cast<std::int64_t>(low)};
}

/// Computes the mean of `count` rows, by one warp. sum(j): of column j. before: (d). store(j, value): column j of the
/// mean.
template <class Sum, class Store>
__device__ ClusterChange update_centroid(const MeanGrid& grid, std::int64_t count, std::int64_t d, const Sum& sum,
                                         const double* before, const Store& store) {
  double shift[1] = {0.0}, between[1] = {0.0};
  bool altered = false;
  for (std::int64_t j = lane_index(); j < d; j += kWarp) {
    const double old = before[j], mean = mean_of(sum(j), grid.shift[j], grid.low_bits, static_cast<double>(count));
    store(j, mean);
    altered = altered || __double_as_longlong(mean) != __double_as_longlong(old);
    shift[0] = add_square(mean, old, shift[0]);
    between[0] = add_square(mean, grid.mean[j], between[0]);
  }
  return {add_lanes<1>(shift), weighted_distance(static_cast<double>(count), add_lanes<1>(between)), false,
          __any_sync(kAllLanes, altered ? 1 : 0) != 0};
}

/// The centroids that one device makes.
struct CentroidTask {
  ShardTotals totals;
  MeanGrid means;
  CentroidPlaces after;
  const double* before;    // (k, d)
  ClusterChange* changes;  // (clusters.count)
  Shard clusters;
  std::int64_t d;
  bool keeps_empty;  // clusters without rows keep their centroids
};

/// A warp per cluster.
__global__ void centroid_kernel(CentroidTask task) {
  for (std::int64_t i = warp_index(); i < task.clusters.count; i += warp_count()) {
    const std::int64_t c = task.clusters.first + i, first = c * task.d;
    Word count = 0;
    for (int p = 0; p < task.totals.shards; ++p) count += task.totals.counts[p][c];
    const auto place = [&](std::int64_t j, double value) {
      for (int p = 0; p < task.after.count; ++p) task.after.centroids[p][first + j] = value;
    };
    ClusterChange change{0.0, 0.0, !task.keeps_empty, false};
    if (count != 0) {
      change = update_centroid(
          task.means, static_cast<std::int64_t>(count), task.d,
          [&](std::int64_t j) { return sum_at(task.totals, task.means.low_bits != 0, first + j); }, task.before + first,
          place);
    } else if (task.keeps_empty) {
      for (std::int64_t j = lane_index(); j < task.d; j += kWarp) place(j, task.before[first + j]);
    }
    if (lane_index() == 0) task.changes[i] = change;
  }
}

/// The sum of how all centroids changed.
struct TotalChange {
  explicit TotalChange(std::span<const ClusterChange> changes) {
    for (const ClusterChange& change : changes) {
      shift += change.shift;
      empty = empty || change.empty;
      altered = altered || change.altered;
    }
    for (const ClusterChange& change : changes) between += change.between;
  }
  double shift = 0.0, between = 0.0;
  bool empty = false, altered = false;
};

}  // namespace

template <class T>
DeviceLloyd<T>::DeviceLloyd(const HeldRows<T>& held, const LloydState& state, bool with_totals)
    : clusters_(state.centroids.rows()),
      columns_(held.columns()),
      limbs_(state.sums.limbs),
      low_bits_(limbs_ == 2 ? held.plan.scales.low_bits : 0),
      centroids_(held.pool(), clusters_ * columns_),
      next_centroids_(held.pool(), clusters_ * columns_),
      mean_(held.pool(), columns_),
      shift_(held.pool(), columns_),
      totals_(held.pool(), limbs_ * clusters_ * columns_ + clusters_) {
  const Stream& stream = held.stream();
  const ColumnScales& scales = held.plan.scales;
  const std::int64_t cells = clusters_ * columns_;
  const auto words = [](const std::vector<std::int64_t>& v) { return reinterpret_cast<const Word*>(v.data()); };
  stream.upload(centroids_.data(), state.centroids.data(), cells);
  stream.upload(mean_.data(), held.plan.mean.data(), columns_);
  stream.upload(shift_.data(), scales.shift.data(), columns_);
  if (!with_totals) {
    stream.fill(totals_.data(), 0, totals_.size());
    return;
  }
  stream.upload(totals_.data(), words(state.sums.high), cells);
  if (limbs_ == 2) stream.upload(totals_.data() + cells, words(state.sums.low), cells);
  stream.upload(totals_.data() + limbs_ * cells, words(state.counts), clusters_);
}

template <class T>
ClusterTotals DeviceLloyd<T>::totals(Word* changed) const {
  const std::int64_t cells = clusters_ * columns_;
  return {totals_.data(), limbs_ == 2 ? totals_.data() + cells : nullptr, totals_.data() + limbs_ * cells, changed};
}

template <class T>
void DeviceLloyd<T>::store_centroids(const HeldRows<T>& held, LloydState& state) const {
  held.stream().download(state.centroids.data(), centroids_.data(), clusters_ * columns_);
}

template <class T>
void DeviceLloyd<T>::store_totals(const HeldRows<T>& held, LloydState& state) const {
  const Stream& stream = held.stream();
  const std::int64_t cells = clusters_ * columns_;
  const auto words = [](std::vector<std::int64_t>& v) { return reinterpret_cast<Word*>(v.data()); };
  stream.download(words(state.sums.high), totals_.data(), cells);
  if (limbs_ == 2) stream.download(words(state.sums.low), totals_.data() + cells, cells);
  stream.download(words(state.counts), totals_.data() + limbs_ * cells, clusters_);
}

namespace {

/// The iterations of the rows of one device.
template <class T>
class ShardIterations {
 public:
  ShardIterations(HeldRows<T>& held, const LloydState& state, int shard, bool with_totals)
      : held_(held),
        shard_(shard),
        lloyd_(held, state, with_totals),
        updater_(held, lloyd_.clusters()),
        changed_(held.pool(), 1),
        changes_(held.pool(), lloyd_.clusters()) {}

  /// The result is the same in all shards, except for times.
  IterateResult run(const IterateRequest& request, ShardExchange& exchange) {
    const auto begin = Clock::now();
    const std::int64_t k = lloyd_.clusters();
    IterateResult result;
    for (Stop stop = Stop::none; stop == Stop::none && (result.records.empty() || !exchange.is_last());) {
      const auto iteration_begin = Clock::now();
      IterationRecord own;
      assign_and_sum(own);
      const double assigned = seconds_since(iteration_begin);
      if (!exchange.share_sums(shard_, {&held_.stream(), lloyd_.totals(), lloyd_.next_centroids()})) return result;
      const std::vector<ClusterChange> changes = make_centroids(exchange, own);
      if (!exchange.share_changes(shard_, changes, own, seconds_since(begin) >= kMostSeconds)) return result;

      IterationRecord record = exchange.counts();
      TotalChange change(exchange.changes());
      if (change.empty && request.relocates && exchange.is_alone()) {
        record.relocated = fill_empty_clusters(exchange);
        change = TotalChange(exchange.changes());
      }
      if (change.empty) {
        add_to(result.unfinished.emplace(k), record);
        result.unfinished->changed = record.changed;
        break;
      }
      lloyd_.swap_centroids();
      record.assign_seconds = assigned;
      record.shift = change.shift;
      record.inertia = remaining_objective(request.spread, change.between);
      record.seconds = seconds_since(iteration_begin);
      result.records.push_back(record);
      result.converged = !change.altered && record.relocated == 0;
      stop = request.stop.test(request.iterations + static_cast<std::int64_t>(result.records.size()), record);
    }
    return result;
  }

  const DeviceLloyd<T>& lloyd() const { return lloyd_; }

 private:
  /// Queues the labels of all rows and their sums.
  void assign_and_sum(IterationRecord& record) {
    held_.stream().fill(changed_.data(), 0, 1);
    const ClusterTotals totals = lloyd_.totals(changed_.data());
    const BlockWork<T> update = [&](const Block<T>& block) { updater_.update(held_, block, totals); };
    const bool at_once = held_.sent != nullptr;  // while a block is on the device
    find_nearest_retrying<T>(held_, lloyd_.centroids(), lloyd_.clusters(), record, at_once ? update : BlockWork<T>(),
                             [] {});
    if (!at_once) held_.for_blocks(update);
  }

  /// Relocates rows of the only shard to empty clusters, and makes the centroids again; clusters that stay empty keep
  /// theirs. Returns the number of these rows.
  std::int64_t fill_empty_clusters(ShardExchange& exchange) {
    const std::int64_t moved = with_memory(held_, [&] { return relocate(held_, lloyd_); });
    if (moved > 0) {
      const ClusterTotals totals = lloyd_.totals(changed_.data());
      held_.for_blocks([&](const Block<T>& block) { updater_.update(held_, block, totals); });
    }
    constexpr bool kKeepsEmpty = true;
    IterationRecord unused;
    exchange.share_sums(shard_, {&held_.stream(), lloyd_.totals(), lloyd_.next_centroids()});
    exchange.share_changes(shard_, make_centroids(exchange, unused, kKeepsEmpty), unused, exchange.is_last());
    return moved;
  }

  /// Makes the centroids of the shard's clusters, and waits for them.
  std::vector<ClusterChange> make_centroids(const ShardExchange& exchange, IterationRecord& record,
                                            bool keeps_empty = false) {
    const Stream& stream = held_.stream();
    const Shard clusters = exchange.clusters_of(shard_);
    std::vector<ClusterChange> changes(static_cast<std::size_t>(clusters.count));
    if (clusters.count > 0) {
      centroid_kernel<<<held_.context->grid(clusters.count, kBlockWarps), kBlock, 0, stream>>>(
          {exchange.totals(), lloyd_.mean_grid(), exchange.places(), lloyd_.centroids(), changes_.data(), clusters,
           held_.columns(), keeps_empty});
      check(cudaGetLastError());
      stream.download(changes.data(), changes_.data(), clusters.count);
    }
    Word changed = 0;
    stream.download(&changed, changed_.data(), 1);
    record.changed = static_cast<std::int64_t>(changed);
    return changes;
  }

  HeldRows<T>& held_;
  int shard_;
  DeviceLloyd<T> lloyd_;
  SumUpdater<T> updater_;
  Buffer<Word> changed_;           // (1)
  Buffer<ClusterChange> changes_;  // (k)
};

/// Downloads centroids and totals after iterations, those of each shard added.
template <class T>
void store(std::span<HeldRows<T>* const> shards, std::span<const std::optional<ShardIterations<T>>> iterations,
           const ShardExchange& exchange, LloydState& state) {
  const auto in_shard = [&](std::size_t p, const auto& work) {
    check(cudaSetDevice(shards[p]->context->device));
    work(iterations[p]->lloyd(), *shards[p]);
  };
  in_shard(0, [&](const auto& lloyd, const auto& held) { lloyd.store_centroids(held, state); });
  if (exchange.copy_totals(state)) return;
  in_shard(0, [&](const auto& lloyd, const auto& held) { lloyd.store_totals(held, state); });
  if (shards.size() == 1) return;
  const auto add = [](const std::vector<std::int64_t>& from, std::vector<std::int64_t>& to) {
    std::transform(from.begin(), from.end(), to.begin(), to.begin(), std::plus<>());
  };
  LloydState shard{Matrix<double>(0, 0), state.sums, state.counts};
  for (std::size_t p = 1; p < shards.size(); ++p) {
    in_shard(p, [&](const auto& lloyd, const auto& held) { lloyd.store_totals(held, shard); });
    add(shard.sums.high, state.sums.high);
    add(shard.sums.low, state.sums.low);
    add(shard.counts, state.counts);
  }
}

}  // namespace

template <class T>
IterateResult iterate(std::span<HeldRows<T>* const> shards, Threads& threads, Communicator& processes,
                      const IterateRequest& request, LloydState& state) {
  HeldRows<T>& first = *shards.front();
  if (first.weight.size() > 0) return {};
  const std::int64_t k = state.centroids.rows();
  std::vector<int> devices;
  for (const HeldRows<T>* shard : shards) devices.push_back(shard->context->device);
  ShardExchange exchange(devices, {k, first.columns(), state.sums.limbs}, processes, !first.context->forced.no_peers);
  if (shards.size() > 1 || !processes.is_alone()) {
    const bool direct = exchange.is_direct();
    first.context->decisions.add({"sums of all GPUs", direct ? "in their memory" : "in the memory of the host",
                                  direct                 ? "the GPUs reach each other's memory"
                                  : processes.is_alone() ? "some GPUs do not reach each other's memory"
                                                         : "there are several processes"});
  }
  std::vector<std::optional<ShardIterations<T>>> iterations(shards.size());
  IterateResult result;
  threads.run_on_each([&](std::size_t p) {
    ShardExchange::Attendance attendance(exchange);
    const bool has_totals = p == 0 && processes.is_first();
    with_memory(*shards[p], [&] { iterations[p].emplace(*shards[p], state, static_cast<int>(p), has_totals); });
    IterateResult own = iterations[p]->run(request, exchange);
    if (p == 0) result = std::move(own);
    attendance.finish();
  });
  store<T>(shards, iterations, exchange, state);
  if (result.unfinished) result.unfinished->counts = state.counts;
  return result;
}

#define KITH_INSTANTIATE(T)                                                                                     \
  template class DeviceLloyd<T>;                                                                                \
  template IterateResult iterate(std::span<HeldRows<T>* const>, Threads&, Communicator&, const IterateRequest&, \
                                 LloydState&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
