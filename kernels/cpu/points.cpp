// Points of the CPU backend.
#include "kernels/cpu/points.h"

#include "kernels/cpu/operations.h"

namespace kith::cpu {
namespace {

template <class T>
class CpuPoints final : public Points {
 public:
  CpuPoints(MatrixView<const T> values, const PointBlock& block, const Instructions& set, Threads& threads,
            const BackendOptions& options, const ForcedPaths& forced, Decisions* decisions)
      : held_{.values = values,
              .first_row = block.first_row,
              .set = set,
              .threads = threads,
              .block_rows = options.block_rows,
              .forced = forced,
              .decisions = decisions,
              .weights = {block.weights.data()},
              .plan = {}} {}

  std::int64_t rows() const override { return held_.rows(); }
  std::int64_t columns() const override { return held_.columns(); }
  int threads() const override { return held_.threads.count(); }
  std::unique_ptr<Points> hold(const PointBlock& block) const override {
    return hold_points(block, held_.set, held_.threads, {.block_rows = held_.block_rows}, held_.forced,
                       held_.decisions);
  }
  void add_range(ColumnRange& range) const override { cpu::add_range(held_, range); }
  void add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const override {
    cpu::add_magnitudes(held_, scales, magnitudes);
  }
  void prepare(const DataPlan& plan) override {
    held_.plan = plan;
    held_.weights.integral = plan.scales.integral_weights;
    held_.pristine = false;
    held_.reset();
  }

  void reset() override { held_.reset(); }
  void assign(const AssignRequest& request, Assignment& assignment) override {
    remember().unsummed = true;
    cpu::assign(held_, request, assignment);
  }
  void measure(const MeasureRequest& request, std::span<Limbs> inertia) override {
    cpu::measure(remember(), request, inertia);
  }
  bool nearest_rows(const NearestRowsRequest& request, NearestRows& result) const override {
    return cpu::nearest_rows(held_, request, result);
  }
  void update_sums(ClusterSums& sums) override { cpu::update_sums(remember(), sums); }
  void relabel(std::int64_t row, std::int32_t label) override {
    remember().unsummed = true;
    held_.label[row - held_.first_row] = label;
    if (held_.bounds.clusters > 0) held_.bounds.bound[row - held_.first_row] = 0.0F;
  }
  void set_labels(std::span<const std::int32_t> labels) override {
    remember().unsummed = true;
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
    copy(held_.label.data(), out.label.data());
    copy(held_.summed.data(), out.summed.data());
    copy(held_.distance.data(), out.distance.data());
  }
  IterateResult iterate(const IterateRequest& request, LloydState& state) override {
    return cpu::iterate(remember(), request, state);
  }
  std::vector<FarRow> farthest(std::int64_t count) const override { return cpu::farthest(held_, count); }
  void labels(std::span<std::int32_t> out) const override { copy(held_.label.data(), out.data()); }
  void distances(std::span<double> out) const override { copy(held_.distance.data(), out.data()); }
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const T* row = held_.row(rows[i] - held_.first_row);
      std::copy(row, row + held_.columns(), out.row(static_cast<std::int64_t>(i)).begin());
    }
  }

  double update_min_distance(std::span<const double> seed) override {
    return cpu::update_min_distance(remember(), seed);
  }
  std::int64_t total_min_distance(FixedScale scale) const override { return cpu::total_min_distance(held_, scale); }
  void draw_rows(FixedScale scale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const override {
    cpu::draw_rows(held_, scale, targets, rows);
  }
  void try_candidates(MatrixView<const double> candidates, FixedScale scale, std::span<std::int64_t> totals) override {
    cpu::try_candidates(remember(), candidates, scale, totals);
  }
  double commit_candidate(std::int64_t chosen) override { return cpu::commit_candidate(remember(), chosen); }

  void search(const Queries& queries, NeighborLists& lists) const override {
    is_of_bits(queries.measure) ? search_bits(bytes(), queries, lists) : cpu::search(held_, queries, lists);
  }
  std::optional<NeighborLists> self_join(const SelfJoin& join) const override {
    if (is_of_bits(join.measure)) return std::nullopt;
    return cpu::self_join(held_, join);
  }
  void search_radius(const Queries& queries, RadiusLists& found) const override {
    is_of_bits(queries.measure) ? search_bits_radius(bytes(), queries, found)
                                : cpu::search_radius(held_, queries, found);
  }
  void all_distances(const Queries& queries, MatrixView<double> out) const override {
    is_of_bits(queries.measure) ? all_bit_distances(bytes(), queries, out) : cpu::all_distances(held_, queries, out);
  }
  void cluster_distances(const ClusterDistancesRequest& request, MatrixView<std::int64_t> sums) const override {
    cpu::cluster_distances(held_, request, sums);
  }
  bool bound_cluster_distances(const ClusterDistancesRequest& request, MatrixView<double> lower,
                               MatrixView<double> upper) const override {
    return cpu::bound_cluster_distances(held_, request, lower, upper);
  }

 private:
  /// The rows, if they may hold bits.
  const HeldRows<std::uint8_t>& bytes() const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      return held_;
    } else {
      throw Error(ExitCode::internal, "rows of bits must be held as bytes");
    }
  }
  /// The rows, of which something is about to be kept.
  HeldRows<T>& remember() {
    held_.pristine = false;
    return held_;
  }
  template <class V>
  void copy(const V* from, V* to) const {
    held_.for_ranges(held_.rows_per_task(8), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
      std::copy(from + first, from + last, to + first);
    });
  }

  HeldRows<T> held_;
};

}  // namespace

std::unique_ptr<Points> hold_points(const PointBlock& block, const Instructions& set, Threads& threads,
                                    const BackendOptions& options, const ForcedPaths& forced, Decisions* decisions) {
  return std::visit(
      [&]<class T>(MatrixView<const T> values) -> std::unique_ptr<Points> {
        return std::make_unique<CpuPoints<T>>(values, block, set, threads, options, forced, decisions);
      },
      block.values);
}

}  // namespace kith::cpu
