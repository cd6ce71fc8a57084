// Hands every operation to all parts and adds, merges or shares what they give.
#include "core/points/composed_points.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/kmeans/farthest_rows.h"
#include "core/kmeans/label_result.h"

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

}  // namespace

ComposedPoints::ComposedPoints(Parts parts, std::int64_t columns, Backend& backend, Communicator& processes,
                               std::int64_t first_row)
    : readers_(std::move(parts.readers)),
      parts_(std::move(parts.points)),
      columns_(columns),
      first_row_(first_row),
      backend_(backend),
      processes_(processes),
      threads_(std::make_unique<PartThreads>(parts_.size())) {
  std::int64_t here = 0;
  for (const auto& part : parts_) here += part->rows();
  process_rows_ = gather_value(processes_, here);
  rows_ = std::accumulate(process_rows_.begin(), process_rows_.end(), std::int64_t{0});
  firsts_.push_back(std::accumulate(process_rows_.begin(), process_rows_.begin() + processes_.rank(), first_row));
  for (const auto& part : parts_) firsts_.push_back(firsts_.back() + part->rows());
}

template <class Work>
double ComposedPoints::largest(const Work& work) const {
  std::vector<double> of_parts(parts_.size() + 1, 0.0);
  for_parts([&](Points& points, std::size_t p) { of_parts[p] = work(points); });
  double result = *std::max_element(of_parts.begin(), of_parts.end());
  processes_.take_largest({&result, 1});
  return result;
}

std::size_t ComposedPoints::part_of(std::int64_t row) const {
  if (row < firsts_.front() || row >= firsts_.back()) return parts_.size();
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

std::vector<std::vector<std::size_t>> ComposedPoints::places_by_part(std::span<const std::int64_t> rows) const {
  std::vector<std::vector<std::size_t>> places(parts_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const std::size_t p = part_of(rows[i]); p < parts_.size()) places[p].push_back(i);
  }
  return places;
}

void ComposedPoints::add_range(ColumnRange& range) const {
  std::vector<ColumnRange> of_parts(parts_.size(), ColumnRange(columns_));
  for_parts([&](const Points& points, std::size_t p) { points.add_range(of_parts[p]); });
  const auto d = static_cast<std::size_t>(columns_);
  std::vector<double> ends(2 * d);  // the largest values, and the negated smallest ones
  for (std::size_t j = 0; j < d; ++j) {
    ends[j] = range.maximum[j];
    ends[d + j] = -range.minimum[j];
    for (const ColumnRange& part : of_parts) {
      ends[j] = std::max(ends[j], part.maximum[j]);
      ends[d + j] = std::max(ends[d + j], -part.minimum[j]);
    }
  }
  processes_.take_largest(ends);
  for (std::size_t j = 0; j < d; ++j) {
    range.maximum[j] = ends[j];
    range.minimum[j] = -ends[d + j];
  }
}

void ComposedPoints::add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const {
  std::vector<std::int64_t> off_grid(static_cast<std::size_t>(columns_), 0);
  Integers all = sum(Integers(5 * off_grid.size()), [&](const Points& points, std::size_t) {
    ColumnMagnitudes part(columns_);
    points.add_magnitudes(scales, part);
    std::vector<std::int64_t> off(part.on_grid.size());
    std::transform(part.on_grid.begin(), part.on_grid.end(), off.begin(), [](auto on) { return on == 0 ? 1 : 0; });
    return Integers().add(part.sum).add(part.absolute_sum).add(part.small).add(part.lost).add(off);
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
  for_parts([&](Points& points, std::size_t) { points.prepare(plan); });
}

void ComposedPoints::reset() {
  for_parts([](Points& points, std::size_t) { points.reset(); });
}

std::vector<FarRow> ComposedPoints::farthest(std::int64_t count) const {
  std::vector<std::vector<FarRow>> of_parts(parts_.size());
  for_parts([&](const Points& points, std::size_t p) { of_parts[p] = points.farthest(count); });
  const auto merged = [count](const auto& lists) {
    FarthestRows far(count);
    for (const auto& list : lists) {
      for (const FarRow& row : list) far.add(row);
    }
    return far.take();
  };
  const std::vector<FarRow> here = merged(of_parts);
  return merged(std::vector<std::vector<FarRow>>{gather(processes_, std::span(here))});
}

void ComposedPoints::copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const {
  const auto places = places_by_part(rows);
  // One process has each row, so that the sum of the bits is those of its values.
  std::vector<std::int64_t> bits(static_cast<std::size_t>(out.size()), 0);
  for_parts([&](const Points& points, std::size_t p) {
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
  for_parts([&](Points& points, std::size_t p) { points.set_state(state_of(from, p)); });
}

void ComposedPoints::copy_state(const RowState& out) const {
  if (!processes_.is_alone()) return Points::copy_state(out);
  for_parts([&](const Points& points, std::size_t p) { points.copy_state(state_of(out, p)); });
}

void ComposedPoints::take_choices(const PointSet& from) {
  const auto* other = dynamic_cast<const ComposedPoints*>(&from);
  if (other == nullptr) return;
  for (std::size_t p = 0; p < std::min(parts_.size(), other->parts_.size()); ++p) {
    parts_[p]->take_choices(*other->parts_[p]);
  }
}

void ComposedPoints::assign(const AssignRequest& request, Assignment& assignment) {
  sweep({.centroids = request.centroids}, assignment);
}

void ComposedPoints::measure(const MeasureRequest& request, std::span<Limbs> inertia) {
  Integers all = sum(Integers(2 * inertia.size()), [&](Points& points, std::size_t) {
    std::vector<Limbs> part(inertia.size());
    points.measure(request, part);
    return Integers().add(std::span<const Limbs>(part));
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
  std::vector<NearestRows> of_parts(parts_.size(), here);
  Integers work = sum(Integers(2), [&](const Points& points, std::size_t p) {
    find_nearest_rows(points, request.centroids, of_parts[p]);
    return Integers().add(of_parts[p].candidates).add(of_parts[p].searched);
  });
  work.take(result.candidates);
  work.take(result.searched);
  for (const NearestRows& part : of_parts) merge(here, part.best);
  const std::vector<Neighbor> all = gather(processes_, std::span<const Neighbor>(here.best));
  for (std::size_t first = 0; first < all.size(); first += here.best.size()) {
    merge(result, std::span(all).subspan(first, here.best.size()));
  }
  return true;
}

void ComposedPoints::update_sums(ClusterSums& sums) {
  const ClusterSums none = empty_like(sums);
  Integers all = sum(Integers().add(none), [&](Points& points, std::size_t) {
    ClusterSums part = none;
    points.update_sums(part);
    return Integers().add(part);
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
    Assignment of_part = none;
    ClusterSums sums = no_sums;
    std::vector<Limbs> inertia = no_inertia;
    points.sweep({request.centroids, request.sums != nullptr ? &sums : nullptr, request.measure, inertia}, of_part);
    return integers(of_part, sums, inertia);
  });
  all.take(assignment);
  if (request.sums != nullptr) all.take(*request.sums);
  all.take(request.inertia);
}

bool ComposedPoints::iterates_in_parts(std::int64_t count) const {
  if (count > 1 || parts_.empty()) return false;
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const auto& part) { return part->iterates_in_parts(std::ssize(parts_)); });
}

IterateResult ComposedPoints::iterate(const IterateRequest& request, LloydState& state) {
  const std::vector<std::int64_t> able = gather_value(processes_, iterates_in_parts(1) ? 1 : 0);
  if (std::find(able.begin(), able.end(), 0) != able.end()) return {};
  Points* const self = this;
  return iterate_parts({&self, 1}, *threads_, processes_, request, state);
}

IterateResult ComposedPoints::iterate_parts(std::span<Points* const> /*parts*/, PartThreads&, Communicator& processes,
                                            const IterateRequest& request, LloydState& state) {
  std::vector<Points*> parts;
  for (const auto& part : parts_) parts.push_back(part.get());
  return parts_.front()->iterate_parts(parts, *threads_, processes, request, state);
}

void ComposedPoints::relabel(std::int64_t row, std::int32_t label) {
  if (const std::size_t p = part_of(row); p < parts_.size()) parts_[p]->relabel(row, label);
}

void ComposedPoints::set_labels(std::span<const std::int32_t> labels) {
  for_parts([&](Points& points, std::size_t p) { points.set_labels(slice(labels, p)); });
}

void ComposedPoints::labels(std::span<std::int32_t> out) const {
  for_parts([&](const Points& points, std::size_t p) { points.labels(slice(out, p)); });
  share_rows(out);
}

void ComposedPoints::distances(std::span<double> out) const {
  for_parts([&](const Points& points, std::size_t p) { points.distances(slice(out, p)); });
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
  std::vector<std::int64_t> totals(parts_.size(), 0);
  for_parts([&](const Points& points, std::size_t p) { totals[p] = points.total_min_distance(scale); });
  const std::vector<std::int64_t> of_processes =
      gather_value(processes_, std::accumulate(totals.begin(), totals.end(), std::int64_t{0}));
  std::vector<std::int64_t> drawn(targets.size(), 0);
  std::int64_t before =
      std::accumulate(of_processes.begin(), of_processes.begin() + processes_.rank(), std::int64_t{0});
  for (std::size_t p = 0; p < parts_.size(); before += totals[p++]) {
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const std::int64_t target = targets[t] - before;
      if (target >= 0 && target < totals[p]) parts_[p]->draw_rows(scale, {&target, 1}, {&drawn[t], 1});
    }
  }
  processes_.add(drawn);
  std::copy(drawn.begin(), drawn.end(), rows.begin());
}

void ComposedPoints::try_candidates(MatrixView<const double> candidates, FixedScale scale,
                                    std::span<std::int64_t> totals) {
  Integers all = sum(Integers(totals.size()), [&](Points& points, std::size_t) {
    std::vector<std::int64_t> part(totals.size(), 0);
    points.try_candidates(candidates, scale, part);
    return Integers().add(part);
  });
  all.take(totals);
}

}  // namespace kith
