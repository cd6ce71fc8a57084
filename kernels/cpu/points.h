// Points of the CPU backend. Each operation is defined in the file that its declaration names; kernels/cuda has files
// of the same names.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/points/backend.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

/// Points in the memory of the block. `set`, `threads` and `decisions` (null: none are recorded) must outlive them.
std::unique_ptr<Points> hold_points(const PointBlock& block, const Instructions& set, Threads& threads,
                                    const BackendOptions& options, const ForcedPaths& forced,
                                    Decisions* decisions = nullptr);

// search/bits.cpp: searches of rows of bits, eight in each value, by a measure of bits.
void search_bits(const HeldRows<std::uint8_t>& held, const Queries& queries, NeighborLists& lists);
void search_bits_radius(const HeldRows<std::uint8_t>& held, const Queries& queries, RadiusLists& lists);
void all_bit_distances(const HeldRows<std::uint8_t>& held, const Queries& queries, MatrixView<double> out);

/// T: one of KITH_FOR_POINT_TYPES.
template <class T>
class CpuPoints final : public Points {
 public:
  explicit CpuPoints(HeldRows<T> held) : held_(std::move(held)) {}

  HeldRows<T>& held() { return held_; }
  std::int64_t rows() const override { return held_.rows(); }
  std::int64_t columns() const override { return held_.columns(); }
  int threads() const override { return held_.threads.count(); }
  std::unique_ptr<Points> hold(const PointBlock& block) const override {
    return hold_points(block, held_.set, held_.threads, {.block_rows = held_.block_rows}, held_.forced,
                       held_.decisions);
  }
  void prepare(const DataPlan& plan) override {
    held_.plan = plan;
    held_.weights.integral = plan.scales.integral_weights;
    held_.pristine = false;
    held_.reset();
  }
  // statistics/statistics.cpp
  void add_range(ColumnRange&) const override;
  void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const override;

  // The state of the rows.
  void reset() override { held_.reset(); }
  void relabel(std::int64_t row, std::int32_t label) override {
    held_.pristine = false;
    held_.unsummed = true;
    held_.label[row - held_.first_row] = label;
    if (held_.bounds.clusters > 0) held_.bounds.bound[row - held_.first_row] = 0.0F;
  }
  void set_labels(std::span<const std::int32_t> labels) override {
    held_.pristine = false;
    held_.unsummed = true;
    copy(labels.data(), held_.label.data());
    held_.labelled_clusters = 0;
    held_.bounds.clusters = 0;
    held_.observed.few_change = false;
    held_.observed.bounds = {};
  }
  void set_state(const RowState& from) override {
    set_labels(from.label);
    copy(from.summed.data(), held_.summed.data());
    copy(from.distance.data(), held_.distance.data());
    held_.totals.current = false;
    held_.seeding = {};
    held_.labelled_clusters = from.clusters;
  }
  void take_choices(const Points& from) override {
    const auto* other = dynamic_cast<const CpuPoints*>(&from);
    if (other != nullptr) held_.observed.screens = other->held_.observed.screens;
  }
  void copy_state(const RowState& out) const override {
    labels(out.label);
    copy(held_.summed.data(), out.summed.data());
    distances(out.distance);
  }
  void labels(std::span<std::int32_t> out) const override { copy(held_.label.data(), out.data()); }
  void distances(std::span<double> out) const override { copy(held_.distance.data(), out.data()); }
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const T* row = held_.row(rows[i] - held_.first_row);
      std::copy(row, row + held_.columns(), out.row(static_cast<std::int64_t>(i)).begin());
    }
  }
  std::vector<FarRow> farthest(std::int64_t count) const override {
    FarthestRows far(count);
    for (std::int64_t i = 0; i < rows(); ++i) far.add({held_.distance[i], held_.first_row + i, held_.label[i]});
    return far.take();
  }

  // assign/, the files of these names
  void assign(const AssignRequest&, Assignment&) override;
  void measure(const MeasureRequest&, std::span<Limbs> inertia) override;
  bool nearest_rows(const NearestRowsRequest&, NearestRows&) const override;
  void update_sums(ClusterSums&) override;
  IterateResult iterate(const IterateRequest&, LloydState&) override;

  // seeding/seeding.cpp
  double update_min_distance(std::span<const double> seed) override;
  std::int64_t total_min_distance(FixedScale) const override;
  void draw_rows(FixedScale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const override;
  void try_candidates(MatrixView<const double> candidates, FixedScale, std::span<std::int64_t> totals) override;
  double commit_candidate(std::int64_t chosen) override;

  // search/search.cpp, self_join.cpp, radius.cpp, distances.cpp
  void search(const Queries&, NeighborLists&) const override;
  std::optional<NeighborLists> self_join(const SelfJoin&) const override;
  void search_radius(const Queries&, RadiusLists&) const override;
  void all_distances(const Queries&, MatrixView<double> out) const override;

  // statistics/cluster_distances.cpp
  void cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t> sums) const override;
  bool bound_cluster_distances(const ClusterDistancesRequest&, MatrixView<double> lower,
                               MatrixView<double> upper) const override;

 private:
  /// The rows, if they may hold bits.
  const HeldRows<std::uint8_t>& bytes() const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      return held_;
    } else {
      throw Error(ExitCode::internal, "rows of bits must be held as bytes");
    }
  }
  template <class V>
  void copy(const V* from, V* to) const {
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
      std::copy(from + first, from + last, to + first);
    });
  }

  HeldRows<T> held_;
};

}  // namespace kith::cpu
