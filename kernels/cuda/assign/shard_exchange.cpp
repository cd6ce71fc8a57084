// The meetings of the shards of a run, and the sums and centroids that go through the memory of the host.
#include "kernels/cuda/assign/shard_exchange.h"

#include <algorithm>

namespace kith::cuda {

ShardExchange::ShardExchange(std::span<const int> devices, const Sizes& sizes, Communicator& processes, bool peers)
    : sizes_(sizes),
      processes_(processes),
      direct_(processes.is_alone() && peers && make_peers(devices)),
      barrier_(std::ssize(devices)),
      shown_(devices.size()),
      records_(devices.size()),
      changes_(static_cast<std::size_t>(sizes.clusters)) {
  if (direct_) return;
  for (std::size_t p = 0; p < devices.size(); ++p) mirrors_.emplace_back(sizes.words());
  before_.resize(static_cast<std::size_t>(sizes.words()), 0);
  added_.resize(before_.size(), 0);
  all_.emplace(sizes.words());
  std::fill_n(all_->data(), all_->size(), Word{0});
  centroids_.emplace(sizes.cells());
}

ShardExchange::Attendance::~Attendance() {
  if (!finished_) exchange_.failed_ = true;
  exchange_.barrier_.arrive_and_drop();
}

bool ShardExchange::meet() {
  if (shards() > 1) barrier_.arrive_and_wait();
  return !failed_;
}

void ShardExchange::add_mirrors(int shard) {
  const Shard words = shard_of(sizes_.words(), shard, shards());
  for (std::int64_t i = words.first; i < words.first + words.count; ++i) {
    Word sum = 0;
    for (const PageLocked<Word>& mirror : mirrors_) sum += mirror.data()[i];
    const auto at = static_cast<std::size_t>(i);
    added_[at] = static_cast<std::int64_t>(sum) - before_[at];
    before_[at] = static_cast<std::int64_t>(sum);
  }
}

bool ShardExchange::share_sums(int shard, const Shown& shown) {
  shown_[static_cast<std::size_t>(shard)] = shown;
  if (direct_) {
    shown.stream->mark();
    if (!meet()) return false;
    for (const Shown& other : shown_) {
      if (other.stream != shown.stream) shown.stream->wait_for_mark(*other.stream);
    }
    return true;
  }
  const PageLocked<Word>& mirror = mirrors_[static_cast<std::size_t>(shard)];
  check(cudaMemcpyAsync(mirror.data(), shown.totals, static_cast<std::size_t>(mirror.size()) * sizeof(Word),
                        cudaMemcpyDeviceToHost, *shown.stream));
  shown.stream->wait();
  if (!meet()) return false;
  add_mirrors(shard);
  if (!meet()) return false;
  if (shard == 0) {
    add_sparse(processes_, added_);
    for (std::size_t i = 0; i < added_.size(); ++i) all_->data()[i] += static_cast<Word>(added_[i]);
  }
  return meet();
}

ShardTotals ShardExchange::totals() const {
  ShardTotals totals{.cells = sizes_.cells()};
  const auto add = [&](const Word* words) {
    totals.sums[totals.shards] = words;
    totals.counts[totals.shards++] = words + sizes_.limbs * sizes_.cells();
  };
  if (!direct_) {
    add(all_->data());
  } else {
    for (const Shown& shown : shown_) add(shown.totals);
  }
  return totals;
}

CentroidPlaces ShardExchange::places() const {
  CentroidPlaces places;
  if (!direct_) {
    places.centroids[places.count++] = centroids_->data();
  } else {
    for (const Shown& shown : shown_) places.centroids[places.count++] = shown.next_centroids;
  }
  return places;
}

Shard ShardExchange::clusters_of(int shard) const { return shard_of(sizes_.clusters, shard, shards()); }

bool ShardExchange::share_changes(int shard, std::span<const ClusterChange> changes, const IterationRecord& record,
                                  bool is_last) {
  std::copy(changes.begin(), changes.end(), changes_.begin() + clusters_of(shard).first);
  records_[static_cast<std::size_t>(shard)] = record;
  if (shard == 0) is_last_ = is_last;
  if (!meet()) return false;
  if (direct_) return true;
  if (shard == 0) share_counts();
  if (!meet()) return false;
  check(cudaMemcpyAsync(shown_[static_cast<std::size_t>(shard)].next_centroids, centroids_->data(),
                        static_cast<std::size_t>(centroids_->size()) * sizeof(double), cudaMemcpyHostToDevice,
                        *shown_[static_cast<std::size_t>(shard)].stream));
  return true;
}

void ShardExchange::share_counts() {
  IterationRecord all = counts();
  std::int64_t numbers[] = {all.changed,   all.screened,   all.products,
                            all.ambiguous, all.candidates, processes_.is_first() && is_last_ ? 1 : 0};
  processes_.add(numbers);
  all.changed = numbers[0];
  all.screened = numbers[1];
  all.products = numbers[2];
  all.ambiguous = numbers[3];
  all.candidates = numbers[4];
  is_last_ = numbers[5] != 0;
  std::fill(records_.begin(), records_.end(), IterationRecord());
  records_.front() = all;
}

IterationRecord ShardExchange::counts() const {
  IterationRecord all;
  for (const IterationRecord& one : records_) {
    all.changed += one.changed;
    all.screened += one.screened;
    all.products += one.products;
    all.ambiguous += one.ambiguous;
    all.candidates += one.candidates;
  }
  return all;
}

bool ShardExchange::copy_totals(LloydState& state) const {
  if (direct_) return false;
  const Word* from = all_->data();
  for (std::vector<std::int64_t>* to : {&state.sums.high, &state.sums.low, &state.counts}) {
    std::copy_n(from, to->size(), to->begin());
    from += to->size();
  }
  return true;
}

}  // namespace kith::cuda
