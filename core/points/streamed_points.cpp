// Loops over the rows that are held and the blocks that are read, and the state of the latter.
#include "core/points/streamed_points.h"

#include <algorithm>
#include <limits>

#include "core/kmeans/result.h"
#include "core/numbers/fixed_point.h"
#include "core/numbers/maps.h"
#include "core/points/points.h"

namespace kith {
namespace {

constexpr std::int64_t kGroup = 65536;    // rows per total of kept distances
constexpr std::int64_t kFewRows = 4096;   // reassigned rows that are read one by one
constexpr std::int64_t kSearchBytes = 0;  // for trees and cells: the memory is full of rows
constexpr double kUnmeasured = std::numeric_limits<double>::infinity();  // the kept distance after reset()

}  // namespace

StreamedPoints::StreamedPoints(Backend& backend, const StreamedRows& rows)
    : backend_(backend),
      reader_(*rows.reader),
      weights_(rows.weights),
      first_row_(rows.first_row),
      held_rows_(rows_of(rows.held)),
      only_searched_(rows.only_searched) {
  if (held_rows_ > 0) held_ = backend.hold({rows.held, first_row_, nullptr, weights_of(0, held_rows_)});
  if (only_searched_) {
    plan_.range = ColumnRange(columns());
    if (held_) held_->prepare(plan_ = make_plan(*held_));
  }
  const auto read = static_cast<std::size_t>(reader_.rows() - held_rows_);
  label_.resize(read);
  summed_.resize(read);
  distance_.resize(read);
}

std::span<const double> StreamedPoints::weights_of(std::int64_t first, std::int64_t count) const {
  if (weights_.empty()) return {};
  return weights_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

RowState StreamedPoints::state(std::int64_t first, std::int64_t count) const {
  const std::int64_t place = first - held_rows_;
  const auto size = static_cast<std::size_t>(count);
  return {clusters_, {label_.data() + place, size}, {summed_.data() + place, size}, {distance_.data() + place, size}};
}

template <class Work>
ColumnRange StreamedPoints::for_read_blocks(const Work& work) const {
  if (held_rows_ == rows()) return plan_.range;
  std::int64_t first = held_rows_;
  std::unique_ptr<Points> before;
  ColumnRange seen = plan_.range;
  reader_.begin(first);
  for (PointsView block = reader_.next(); rows_of(block) > 0; block = reader_.next()) {
    const std::int64_t count = rows_of(block);
    auto points = backend_.hold({block, first_row_ + first, nullptr, weights_of(first, count)});
    if (prepared_) {
      points->prepare(plan_);
      points->set_state(state(first, count));
    } else if (only_searched_) {
      points->prepare(make_block_plan(*points, seen));
    }
    if (const Points* like = before ? before.get() : held_.get()) points->take_choices(*like);
    work(*points, first);
    first += count;
    before = std::move(points);
  }
  return seen;
}

template <class Work>
void StreamedPoints::for_blocks(const Work& work, std::optional<Measure> measure) const {
  if (held_) work(*held_, std::int64_t{0});
  const ColumnRange seen = for_read_blocks(work);
  if (only_searched_ && measure) require_digits(seen, *measure);
}

template <class Work>
void StreamedPoints::change_state(const Work& work) {
  if (held_) work(*held_);
  for_read_blocks([&](Points& points, std::int64_t first) {
    work(points);
    points.copy_state(state(first, points.rows()));
  });
}

void StreamedPoints::add_range(ColumnRange& range) const {
  for_blocks([&](const Points& points, std::int64_t) { points.add_range(range); });
}

void StreamedPoints::add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const {
  for_blocks([&](const Points& points, std::int64_t) { points.add_magnitudes(scales, magnitudes); });
}

void StreamedPoints::prepare(const DataPlan& plan) {
  plan_ = plan;
  prepared_ = true;
  if (held_) held_->prepare(plan);
  reset();
}

void StreamedPoints::reset() {
  if (held_) held_->reset();
  clusters_ = 0;
  std::fill(label_.begin(), label_.end(), -1);
  std::fill(summed_.begin(), summed_.end(), -1);
  std::fill(distance_.begin(), distance_.end(), kUnmeasured);
}

std::vector<FarRow> StreamedPoints::farthest(std::int64_t count) const {
  FarthestRows far(count);
  if (held_) {
    for (const FarRow& row : held_->farthest(count)) far.add(row);
  }
  for (std::size_t i = 0; i < distance_.size(); ++i)
    far.add({distance_[i], first_row_ + held_rows_ + static_cast<std::int64_t>(i), label_[i]});
  return far.take();
}

void StreamedPoints::copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const {
  std::vector<std::int64_t> held, read;  // held: numbers in the whole set; read: places here
  const std::int64_t end = first_row_ + held_rows_;
  for (const std::int64_t row : rows) row < end ? held.push_back(row) : read.push_back(row - first_row_);
  Matrix<double> of_held(std::ssize(held), columns());
  if (!held.empty()) held_->copy_rows(held, of_held.view());
  std::visit(
      [&](const auto& of_read) {
        std::int64_t next_held = 0, next_read = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          double* to = out.row(static_cast<std::int64_t>(i)).data();
          if (rows[i] < end) {
            std::copy_n(of_held.row(next_held++).data(), columns(), to);
          } else {
            std::copy_n(of_read.row(next_read++).data(), columns(), to);
          }
        }
      },
      reader_.gather(read));
}

void StreamedPoints::set_state(const RowState& from) {
  const auto held = static_cast<std::size_t>(held_rows_);
  if (held_)
    held_->set_state({from.clusters, from.label.first(held), from.summed.first(held), from.distance.first(held)});
  clusters_ = from.clusters;
  std::copy(from.label.begin() + held_rows_, from.label.end(), label_.begin());
  std::copy(from.summed.begin() + held_rows_, from.summed.end(), summed_.begin());
  std::copy(from.distance.begin() + held_rows_, from.distance.end(), distance_.begin());
}

void StreamedPoints::copy_state(const RowState& out) const {
  const auto held = static_cast<std::size_t>(held_rows_);
  if (held_) held_->copy_state({0, out.label.first(held), out.summed.first(held), out.distance.first(held)});
  std::copy(label_.begin(), label_.end(), out.label.begin() + held_rows_);
  std::copy(summed_.begin(), summed_.end(), out.summed.begin() + held_rows_);
  std::copy(distance_.begin(), distance_.end(), out.distance.begin() + held_rows_);
}

void StreamedPoints::assign(const AssignRequest& request, Assignment& assignment) {
  sweep({.centroids = request.centroids}, assignment);
}

void StreamedPoints::measure(const MeasureRequest& request, std::span<Limbs> inertia) {
  change_state([&](Points& points) { points.measure(request, inertia); });
}

void StreamedPoints::sweep(const SweepRequest& request, Assignment& assignment) {
  change_state([&](Points& points) { points.sweep(request, assignment); });
  clusters_ = request.centroids.rows;
}

bool StreamedPoints::nearest_rows(const NearestRowsRequest& request, NearestRows& result) const {
  for_blocks(
      [&](const Points& points, std::int64_t) { find_nearest_rows(points, request.centroids, result, kSearchBytes); });
  return true;
}

void StreamedPoints::update_sums(ClusterSums& sums) {
  if (held_) held_->update_sums(sums);
  std::vector<std::int64_t> changed;
  for (std::size_t i = 0; i < label_.size() && std::ssize(changed) <= kFewRows; ++i) {
    if (label_[i] != summed_[i]) changed.push_back(held_rows_ + static_cast<std::int64_t>(i));
  }
  if (std::ssize(changed) <= kFewRows) return update_sums_of(changed, sums);
  for_read_blocks([&](Points& points, std::int64_t first) {
    points.update_sums(sums);
    points.copy_state(state(first, points.rows()));
  });
}

void StreamedPoints::update_sums_of(std::span<const std::int64_t> rows, ClusterSums& sums) {
  if (rows.empty()) return;
  const PointsMatrix values = reader_.gather(rows);
  std::vector<double> weights, distances(rows.size(), 0.0);
  std::vector<std::int32_t> labels, summed;
  for (const std::int64_t row : rows) {
    const auto place = static_cast<std::size_t>(row - held_rows_);
    if (!weights_.empty()) weights.push_back(weights_[static_cast<std::size_t>(row)]);
    labels.push_back(label_[place]);
    summed.push_back(summed_[place]);
    summed_[place] = label_[place];
  }
  const auto points = backend_.hold({view_of(values), 0, nullptr, weights});
  points->prepare(plan_);
  points->set_state({0, labels, summed, distances});
  points->update_sums(sums);
}

void StreamedPoints::relabel(std::int64_t row, std::int32_t label) {
  const std::int64_t place = row - first_row_ - held_rows_;
  if (place < 0) return held_->relabel(row, label);
  label_[static_cast<std::size_t>(place)] = label;
}

void StreamedPoints::set_labels(std::span<const std::int32_t> labels) {
  if (held_) held_->set_labels(labels.first(static_cast<std::size_t>(held_rows_)));
  clusters_ = 0;
  std::copy(labels.begin() + held_rows_, labels.end(), label_.begin());
}

void StreamedPoints::labels(std::span<std::int32_t> out) const {
  if (held_) held_->labels(out.first(static_cast<std::size_t>(held_rows_)));
  std::copy(label_.begin(), label_.end(), out.begin() + held_rows_);
}

void StreamedPoints::distances(std::span<double> out) const {
  if (held_) held_->distances(out.first(static_cast<std::size_t>(held_rows_)));
  std::copy(distance_.begin(), distance_.end(), out.begin() + held_rows_);
}

double StreamedPoints::update_min_distance(std::span<const double> seed) {
  double largest = 0.0;
  change_state([&](Points& points) { largest = std::max(largest, points.update_min_distance(seed)); });
  return largest;
}

std::int64_t StreamedPoints::fixed_distance(std::int64_t place, FixedScale scale) const {
  const RowWeights weights{weights_.empty() ? nullptr : weights_.data() + held_rows_, plan_.scales.integral_weights};
  return weighted_fixed(distance_[static_cast<std::size_t>(place)], scale.first, scale.second, weights.of(place));
}

std::vector<std::int64_t> StreamedPoints::group_totals(FixedScale scale) const {
  std::vector<std::int64_t> totals;
  const std::int64_t count = std::ssize(distance_);
  std::int64_t running = 0;
  for (std::int64_t first = 0; first < count; first += kGroup) {
    for (std::int64_t i = first; i < std::min(first + kGroup, count); ++i) running += fixed_distance(i, scale);
    totals.push_back(running);
  }
  return totals;
}

std::int64_t StreamedPoints::total_min_distance(FixedScale scale) const {
  const std::int64_t held = held_ ? held_->total_min_distance(scale) : 0;
  const std::vector<std::int64_t> totals = group_totals(scale);
  return held + (totals.empty() ? 0 : totals.back());
}

void StreamedPoints::draw_rows(FixedScale scale, std::span<const std::int64_t> targets,
                               std::span<std::int64_t> rows) const {
  const std::int64_t of_held = held_ ? held_->total_min_distance(scale) : 0;
  if (held_) draw_rows_of_part(*held_, scale, 0, of_held, targets, rows);
  const std::vector<std::int64_t> totals = group_totals(scale);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::int64_t target = targets[t] - of_held;
    if (target < 0) continue;
    const auto group = std::upper_bound(totals.begin(), totals.end(), target) - totals.begin();
    if (group == std::ssize(totals)) {
      throw Error(ExitCode::internal,
                  "a row was drawn beyond the total of the distances; expected 0 <= target < total");
    }
    std::int64_t place = group * kGroup, prefix = group > 0 ? totals[static_cast<std::size_t>(group - 1)] : 0;
    while ((prefix += fixed_distance(place, scale)) <= target) ++place;
    rows[t] = first_row_ + held_rows_ + place;
  }
}

void StreamedPoints::try_candidates(MatrixView<const double> candidates, FixedScale scale,
                                    std::span<std::int64_t> totals) {
  candidates_ = copied(candidates);
  if (held_) held_->try_candidates(candidates, scale, totals);
  for_read_blocks([&](Points& points, std::int64_t) { points.try_candidates(candidates, scale, totals); });
}

double StreamedPoints::commit_candidate(std::int64_t chosen) {
  double largest = held_ ? held_->commit_candidate(chosen) : 0.0;
  for_read_blocks([&](Points& points, std::int64_t first) {
    largest = std::max(largest, points.update_min_distance(candidates_.row(chosen)));
    points.copy_state(state(first, points.rows()));
  });
  return largest;
}

void StreamedPoints::search(const Queries& queries, NeighborLists& lists) const {
  for_blocks([&](const Points& points, std::int64_t) { points.search(queries, lists); }, queries.measure);
}

void StreamedPoints::search_radius(const Queries& queries, RadiusLists& lists) const {
  Queries bounded = queries;
  bounded.host_bytes = bounded.cell_bytes = kSearchBytes;
  for_blocks([&](const Points& points, std::int64_t) { points.search_radius(bounded, lists); }, queries.measure);
}

void StreamedPoints::all_distances(const Queries& queries, MatrixView<double> out) const {
  for_blocks(
      [&](const Points& points, std::int64_t first) {
        Matrix<double> block(queries.values.rows, points.rows());
        points.all_distances(queries, block.view());
        for (std::int64_t q = 0; q < block.rows(); ++q) {
          std::copy_n(block.row(q).data(), block.columns(), out.row(q).data() + first);
        }
      },
      queries.measure);
}

void StreamedPoints::cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const {
  for_blocks([&](const Points& points, std::int64_t) { points.cluster_distances(request, sums); });
}

}  // namespace kith
