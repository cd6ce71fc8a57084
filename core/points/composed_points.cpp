// Hands every operation to all shards and adds, merges or shares what they give.
#include "core/points/composed_points.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/kmeans/result.h"
#include "core/numbers/maps.h"
#include "core/points/row_reader.h"

namespace kith {
namespace {

/// Sums without rows, of the shape of others.
ClusterSums empty_like(const ClusterSums& sums) {
  ClusterSums empty(0, 0, sums.limbs);
  empty.high.resize(sums.high.size(), 0);
  empty.low.resize(sums.low.size(), 0);
  empty.weights.resize(sums.weights.size());
  return empty;
}

/// A thread for each shard; the calling one takes the first.
std::unique_ptr<Threads> shard_threads(std::size_t shards) {
  return std::make_unique<Threads>(std::max(static_cast<int>(shards), 1), MemoryTopology{.nodes = 1},
                                   "name fewer devices");
}

}  // namespace

ComposedPoints::ComposedPoints(Shards shards, std::int64_t columns, Backend& backend, Communicator& processes,
                               std::int64_t first_row)
    : readers_(std::move(shards.readers)),
      shards_(std::move(shards.points)),
      columns_(columns),
      first_row_(first_row),
      backend_(backend),
      processes_(processes),
      threads_(shard_threads(shards_.size())) {
  std::int64_t here = 0;
  for (const auto& shard : shards_) here += shard->rows();
  process_rows_ = gather_value(processes_, here);
  rows_ = std::accumulate(process_rows_.begin(), process_rows_.end(), std::int64_t{0});
  firsts_.push_back(std::accumulate(process_rows_.begin(), process_rows_.begin() + processes_.rank(), first_row));
  for (const auto& shard : shards_) firsts_.push_back(firsts_.back() + shard->rows());
}

template <class Work>
double ComposedPoints::largest(const Work& work) const {
  std::vector<double> of_shards(shards_.size() + 1, 0.0);
  for_shards([&](Points& points, std::size_t p) { of_shards[p] = work(points); });
  double result = *std::max_element(of_shards.begin(), of_shards.end());
  processes_.take_largest({&result, 1});
  return result;
}

std::size_t ComposedPoints::shard_with(std::int64_t row) const {
  if (row < firsts_.front() || row >= firsts_.back()) return shards_.size();
  return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), row) - firsts_.begin() - 1);
}

template <class T>
std::span<T> ComposedPoints::slice(std::span<T> values, std::size_t p) const {
  return values.subspan(static_cast<std::size_t>(firsts_[p] - first_row_),
                        static_cast<std::size_t>(firsts_[p + 1] - firsts_[p]));
}

RowState ComposedPoints::state_of(const RowState& all, std::size_t p) const {
  return {all.clusters, slice(all.label, p), slice(all.summed, p), slice(all.distance, p)};
}

template <class T>
void ComposedPoints::share_rows(std::span<T> values) const {
  std::vector<std::int64_t> bytes = process_rows_;
  for (std::int64_t& count : bytes) count *= static_cast<std::int64_t>(sizeof(T));
  processes_.share(std::as_writable_bytes(values), bytes);
}

std::vector<std::vector<std::size_t>> ComposedPoints::places_by_shard(std::span<const std::int64_t> rows) const {
  std::vector<std::vector<std::size_t>> places(shards_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const std::size_t p = shard_with(rows[i]); p < shards_.size()) places[p].push_back(i);
  }
  return places;
}

void ComposedPoints::add_range(ColumnRange& range) const {
  std::vector<ColumnRange> of_shards(shards_.size(), ColumnRange(columns_));
  for_shards([&](const Points& points, std::size_t p) { points.add_range(of_shards[p]); });
  for (const ColumnRange& shard : of_shards) extend(range, shard);
  std::vector<double> ends(2 * range.maximum.size());  // the largest values, and the negated smallest ones
  array(ends) << array(range.maximum), -array(range.minimum);
  processes_.take_largest(ends);
  array(range.maximum) = array(ends).head(columns_);
  array(range.minimum) = -array(ends).tail(columns_);
}

void ComposedPoints::add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const {
  std::vector<std::int64_t> off_grid(static_cast<std::size_t>(columns_), 0);
  Integers all = sum(Integers(5 * off_grid.size()), [&](const Points& points, std::size_t) {
    ColumnMagnitudes shard(columns_);
    points.add_magnitudes(scales, shard);
    std::vector<std::int64_t> off(shard.on_grid.size());
    std::transform(shard.on_grid.begin(), shard.on_grid.end(), off.begin(), [](auto on) { return on == 0 ? 1 : 0; });
    return Integers().add(shard.sum).add(shard.absolute_sum).add(shard.small).add(shard.lost).add(off);
  });
  all.take(magnitudes.sum);
  all.take(magnitudes.absolute_sum);
  all.take(magnitudes.small);
  all.take(magnitudes.lost);
  all.take(off_grid);
  for (std::size_t j = 0; j < off_grid.size(); ++j) {
    if (off_grid[j] > 0) magnitudes.on_grid[j] = 0;
  }
}

void ComposedPoints::prepare(const DataPlan& plan) {
  for_shards([&](Points& points, std::size_t) { points.prepare(plan); });
}

void ComposedPoints::reset() {
  for_shards([](Points& points, std::size_t) { points.reset(); });
}

std::vector<FarRow> ComposedPoints::farthest(std::int64_t count) const {
  std::vector<std::vector<FarRow>> of_shards(shards_.size());
  for_shards([&](const Points& points, std::size_t p) { of_shards[p] = points.farthest(count); });
  const auto merged = [count](const auto& lists) {
    FarthestRows far(count);
    for (const auto& list : lists) {
      for (const FarRow& row : list) far.add(row);
    }
    return far.take();
  };
  const std::vector<FarRow> here = merged(of_shards);
  return merged(std::vector<std::vector<FarRow>>{gather(processes_, std::span(here))});
}

void ComposedPoints::copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const {
  const auto places = places_by_shard(rows);
  // One process has each row, so that the sum of the bits is those of its values.
  std::vector<std::int64_t> bits(static_cast<std::size_t>(out.size()), 0);
  for_shards([&](const Points& points, std::size_t p) {
    std::vector<std::int64_t> numbers;
    for (const std::size_t place : places[p]) numbers.push_back(rows[place]);
    Matrix<double> values(std::ssize(numbers), columns_);
    if (!numbers.empty()) points.copy_rows(numbers, values.view());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::memcpy(bits.data() + places[p][i] * static_cast<std::size_t>(columns_), values.row(std::int64_t(i)).data(),
                  static_cast<std::size_t>(columns_) * sizeof(double));
    }
  });
  processes_.add(bits);
  std::transform(bits.begin(), bits.end(), out.data, [](std::int64_t value) { return std::bit_cast<double>(value); });
}

void ComposedPoints::set_state(const RowState& from) {
  if (!processes_.is_alone()) return Points::set_state(from);
  for_shards([&](Points& points, std::size_t p) { points.set_state(state_of(from, p)); });
}

void ComposedPoints::copy_state(const RowState& out) const {
  if (!processes_.is_alone()) return Points::copy_state(out);
  for_shards([&](const Points& points, std::size_t p) { points.copy_state(state_of(out, p)); });
}

void ComposedPoints::take_choices(const Points& from) {
  const auto* other = dynamic_cast<const ComposedPoints*>(&from);
  if (other == nullptr) return;
  for (std::size_t p = 0; p < std::min(shards_.size(), other->shards_.size()); ++p) {
    shards_[p]->take_choices(*other->shards_[p]);
  }
}

void ComposedPoints::assign(const AssignRequest& request, Assignment& assignment) {
  sweep({.centroids = request.centroids}, assignment);
}

void ComposedPoints::measure(const MeasureRequest& request, std::span<Limbs> inertia) {
  Integers all = sum(Integers(2 * inertia.size()), [&](Points& points, std::size_t) {
    std::vector<Limbs> shard(inertia.size());
    points.measure(request, shard);
    return Integers().add(std::span<const Limbs>(shard));
  });
  all.take(inertia);
}

bool ComposedPoints::nearest_rows(const NearestRowsRequest& request, NearestRows& result) const {
  NearestRows here(request.centroids.rows);
  const auto merge = [](NearestRows& into, std::span<const Neighbor> other) {
    for (std::size_t c = 0; c < into.best.size(); ++c) {
      if (other[c].row >= 0 && (into.best[c].row < 0 || other[c] < into.best[c])) into.best[c] = other[c];
    }
  };
  std::vector<NearestRows> of_shards(shards_.size(), here);
  Integers work = sum(Integers(2), [&](const Points& points, std::size_t p) {
    find_nearest_rows(points, request.centroids, of_shards[p]);
    return Integers().add(of_shards[p].candidates).add(of_shards[p].searched);
  });
  work.take(result.candidates);
  work.take(result.searched);
  for (const NearestRows& shard : of_shards) merge(here, shard.best);
  const std::vector<Neighbor> all = gather(processes_, std::span<const Neighbor>(here.best));
  for (std::size_t first = 0; first < all.size(); first += here.best.size()) {
    merge(result, std::span(all).subspan(first, here.best.size()));
  }
  return true;
}

void ComposedPoints::update_sums(ClusterSums& sums) {
  const ClusterSums none = empty_like(sums);
  Integers all = sum(Integers().add(none), [&](Points& points, std::size_t) {
    ClusterSums shard = none;
    points.update_sums(shard);
    return Integers().add(shard);
  });
  all.take(sums);
}

void ComposedPoints::sweep(const SweepRequest& request, Assignment& assignment) {
  const Assignment none(request.centroids.rows);
  const ClusterSums no_sums = request.sums != nullptr ? empty_like(*request.sums) : ClusterSums(0, 0, 1);
  const std::vector<Limbs> no_inertia(request.inertia.size());
  const auto integers = [](const Assignment& a, const ClusterSums& sums, std::span<const Limbs> inertia) {
    return Integers().add(a).add(sums).add(inertia);
  };
  Integers all = sum(integers(none, no_sums, no_inertia), [&](Points& points, std::size_t) {
    Assignment of_shard = none;
    ClusterSums sums = no_sums;
    std::vector<Limbs> inertia = no_inertia;
    points.sweep({request.centroids, request.sums != nullptr ? &sums : nullptr, request.measure, inertia}, of_shard);
    return integers(of_shard, sums, inertia);
  });
  all.take(assignment);
  if (request.sums != nullptr) all.take(*request.sums);
  all.take(request.inertia);
}

bool ComposedPoints::iterates_in_shards(std::int64_t count) const {
  if (count > 1 || shards_.empty()) return false;
  return std::all_of(shards_.begin(), shards_.end(),
                     [&](const auto& shard) { return shard->iterates_in_shards(std::ssize(shards_)); });
}

IterateResult ComposedPoints::iterate(const IterateRequest& request, LloydState& state) {
  const std::vector<std::int64_t> able = gather_value(processes_, iterates_in_shards(1) ? 1 : 0);
  if (std::find(able.begin(), able.end(), 0) != able.end()) return {};
  Points* const self = this;
  return iterate_shards({&self, 1}, *threads_, processes_, request, state);
}

IterateResult ComposedPoints::iterate_shards(std::span<Points* const> /*shards*/, Threads&, Communicator& processes,
                                             const IterateRequest& request, LloydState& state) {
  std::vector<Points*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  return shards_.front()->iterate_shards(shards, *threads_, processes, request, state);
}

void ComposedPoints::relabel(std::int64_t row, std::int32_t label) {
  if (const std::size_t p = shard_with(row); p < shards_.size()) shards_[p]->relabel(row, label);
}

void ComposedPoints::set_labels(std::span<const std::int32_t> labels) {
  for_shards([&](Points& points, std::size_t p) { points.set_labels(slice(labels, p)); });
}

void ComposedPoints::labels(std::span<std::int32_t> out) const {
  for_shards([&](const Points& points, std::size_t p) { points.labels(slice(out, p)); });
  share_rows(out);
}

void ComposedPoints::distances(std::span<double> out) const {
  for_shards([&](const Points& points, std::size_t p) { points.distances(slice(out, p)); });
  share_rows(out);
}

double ComposedPoints::update_min_distance(std::span<const double> seed) {
  return largest([&](Points& points) { return points.update_min_distance(seed); });
}

double ComposedPoints::commit_candidate(std::int64_t chosen) {
  return largest([&](Points& points) { return points.commit_candidate(chosen); });
}

std::int64_t ComposedPoints::total_min_distance(FixedScale scale) const {
  return sum(Integers(1),
             [&](const Points& points, std::size_t) { return Integers().add(points.total_min_distance(scale)); })
      .values()[0];
}

void ComposedPoints::draw_rows(FixedScale scale, std::span<const std::int64_t> targets,
                               std::span<std::int64_t> rows) const {
  std::vector<std::int64_t> totals(shards_.size(), 0);
  for_shards([&](const Points& points, std::size_t p) { totals[p] = points.total_min_distance(scale); });
  const std::vector<std::int64_t> of_processes =
      gather_value(processes_, std::accumulate(totals.begin(), totals.end(), std::int64_t{0}));
  std::vector<std::int64_t> drawn(targets.size(), 0);
  std::vector<std::int64_t> before(totals.size());
  std::exclusive_scan(totals.begin(), totals.end(), before.begin(),
                      std::accumulate(of_processes.begin(), of_processes.begin() + processes_.rank(), std::int64_t{0}));
  for_shards([&](const Points& points, std::size_t p) {
    draw_rows_of_part(points, scale, before[p], totals[p], targets, drawn);
  });
  processes_.add(drawn);
  std::copy(drawn.begin(), drawn.end(), rows.begin());
}

void ComposedPoints::try_candidates(MatrixView<const double> candidates, FixedScale scale,
                                    std::span<std::int64_t> totals) {
  Integers all = sum(Integers(totals.size()), [&](Points& points, std::size_t) {
    std::vector<std::int64_t> shard(totals.size(), 0);
    points.try_candidates(candidates, scale, shard);
    return Integers().add(shard);
  });
  all.take(totals);
}

namespace {

constexpr std::size_t kSparseBlock = 64;                     // numbers
constexpr std::size_t kWorthLooking = std::size_t{1} << 15;  // numbers from which on a second message costs little

bool all_zero(std::span<const std::int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

}  // namespace

void add_sparse(Communicator& processes, std::span<std::int64_t> values) {
  if (processes.is_alone()) return;
  if (values.size() < kWorthLooking) return processes.add(values);
  const auto block_at = [&](std::size_t first) {
    return values.subspan(first, std::min(kSparseBlock, values.size() - first));
  };
  std::vector<std::int64_t> filled;  // the first numbers of the blocks
  for (std::size_t first = 0; first < values.size(); first += kSparseBlock) {
    if (!all_zero(block_at(first))) filled.push_back(static_cast<std::int64_t>(first));
  }
  // Every process receives all of these blocks, where a sum of all numbers sends each of them about twice.
  std::int64_t total = std::ssize(filled);
  processes.add({&total, 1});
  if (static_cast<std::size_t>(total) * kSparseBlock > values.size()) return processes.add(values);
  std::vector<std::int64_t> packed;  // first number, then the block
  for (const std::int64_t first : filled) {
    const std::span<std::int64_t> block = block_at(static_cast<std::size_t>(first));
    packed.push_back(first);
    packed.insert(packed.end(), block.begin(), block.end());
    std::fill(block.begin(), block.end(), 0);
  }
  const std::vector<std::int64_t> all = gather(processes, std::span<const std::int64_t>(packed));
  for (std::size_t at = 0; at < all.size();) {
    const std::span<std::int64_t> block = block_at(static_cast<std::size_t>(all[at++]));
    for (std::int64_t& value : block) value += all[at++];
  }
}

namespace {

/// The arrival of the rows of one shard, for the backend that holds the shard.
class ShardArrival final : public Arrival {
 public:
  ShardArrival(Arrival& all, const Shard& shard) : all_(all), shard_(shard) {}
  std::int64_t wait_for(std::int64_t rows) override {
    return std::min(all_.wait_for(shard_.first + rows) - shard_.first, shard_.count);
  }

 private:
  Arrival& all_;
  Shard shard_;
};

PointsView rows_of_shard(const PointsView& values, const Shard& shard) {
  return std::visit(
      [&]<class T>(const MatrixView<T>& all) -> PointsView {
        if (all.data == nullptr) return MatrixView<T>{nullptr, shard.count, all.columns};
        return all.middle(shard.first, shard.count);
      },
      values);
}

}  // namespace

ComposedBackend::ComposedBackend(std::vector<std::unique_ptr<Backend>> backends, std::int64_t least_rows)
    : backends_(std::move(backends)), least_rows_(std::max<std::int64_t>(least_rows, 1)) {}

Device ComposedBackend::device() const {
  Device all = backends_.front()->device();
  for (std::size_t b = 1; b < backends_.size(); ++b) all.free_memory += backends_[b]->device().free_memory;
  all.devices = std::ssize(backends_);
  if (backends_.size() > 1) all.name = std::to_string(backends_.size()) + " x " + all.name;
  return all;
}

std::unique_ptr<Points> ComposedBackend::hold(const PointBlock& block) {
  const std::int64_t rows = rows_of(block.values);
  const auto count =
      static_cast<int>(std::clamp<std::int64_t>(rows / least_rows_, 1, static_cast<std::int64_t>(backends_.size())));
  if (count == 1) return backends_.front()->hold(block);
  ComposedPoints::Shards shards;
  for (int p = 0; p < count; ++p) {
    const Shard shard = shard_of(rows, p, count);
    PointBlock own{.values = rows_of_shard(block.values, shard),
                   .first_row = block.first_row + shard.first,
                   .only_searched = block.only_searched};
    std::optional<ShardArrival> arrival;
    if (block.arrival != nullptr) own.arrival = &arrival.emplace(*block.arrival, shard);
    if (!block.weights.empty()) {
      own.weights = block.weights.subspan(static_cast<std::size_t>(shard.first), static_cast<std::size_t>(shard.count));
    }
    if (block.reader != nullptr) {
      shards.readers.push_back(std::make_unique<RangeReader>(*block.reader, shard.first, shard.count));
      own.reader = shards.readers.back().get();
    }
    shards.points.push_back(backends_[static_cast<std::size_t>(p)]->hold(own));
  }
  return std::make_unique<ComposedPoints>(std::move(shards), columns_of(block.values), *this, alone_, block.first_row);
}

std::int64_t ComposedBackend::device_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& backend : backends_) bytes += backend->device_bytes();
  return bytes;
}

std::vector<Decision> ComposedBackend::decisions() const {
  Decisions all;
  for (const auto& backend : backends_) {
    for (const Decision& decision : backend->decisions()) all.add(decision);
  }
  return all.all();
}

}  // namespace kith
