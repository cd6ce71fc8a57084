// Points that are larger than the memory: the first rows are held by a backend, the others are read again in each pass.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/points/backend.h"
#include "core/points/row_reader.h"
#include "core/runtime/large_pages.h"

namespace kith {

/// Where the rows of streamed points come from.
struct StreamedRows {
  PointsView held;                       // (m, d) rows 0 .. m - 1 in memory; m may be 0
  RowReader* reader = nullptr;           // of all n rows
  std::span<const double> weights = {};  // (n) as in PointBlock
  std::int64_t first_row = 0;            // the number of row 0 in the whole data set
  bool only_searched = false;            // as in PointBlock: no pass is needed before the first search
};

/// Every operation gives the same bits as with all rows in memory, because results of blocks are added as integers,
/// merged by (D, row), or maxima. The state of the rows that are read is kept here, 16 bytes a row.
///
/// Operations on values read each row once; a sweep is one operation. Totals and draws of seeding, farthest(), labels
/// and distances read nothing, and update_sums() only the rows whose label has changed. commit_candidate() reads all.
class StreamedPoints final : public Points {
 public:
  /// The backend, the reader and the memory of the rows must outlive the points.
  StreamedPoints(Backend& backend, const StreamedRows& rows);

  /// The plan of all rows, as it was given; of the rows that are held, if the points are only searched.
  const DataPlan& plan() const { return plan_; }
  std::int64_t rows() const override { return reader_.rows(); }
  std::int64_t columns() const override { return reader_.columns(); }
  std::unique_ptr<Points> hold(const PointBlock& block) const override { return backend_.hold(block); }
  void add_range(ColumnRange&) const override;
  void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const override;
  void prepare(const DataPlan&) override;
  void reset() override;
  std::vector<FarRow> farthest(std::int64_t count) const override;
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override;
  void set_state(const RowState&) override;
  void copy_state(const RowState&) const override;

  void assign(const AssignRequest&, Assignment&) override;
  void measure(const MeasureRequest&, std::span<Limbs> inertia) override;
  void sweep(const SweepRequest&, Assignment&) override;
  bool nearest_rows(const NearestRowsRequest&, NearestRows&) const override;
  void update_sums(ClusterSums&) override;
  void relabel(std::int64_t row, std::int32_t label) override;
  void set_labels(std::span<const std::int32_t> labels) override;
  void labels(std::span<std::int32_t> out) const override;
  void distances(std::span<double> out) const override;

  double update_min_distance(std::span<const double> seed) override;
  std::int64_t total_min_distance(FixedScale) const override;
  void draw_rows(FixedScale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const override;
  void try_candidates(MatrixView<const double> candidates, FixedScale, std::span<std::int64_t> totals) override;
  double commit_candidate(std::int64_t chosen) override;

  void search(const Queries&, NeighborLists&) const override;
  void search_radius(const Queries&, RadiusLists&) const override;
  void all_distances(const Queries&, MatrixView<double> out) const override;
  void cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t> sums) const override;

 private:
  /// Calls work(points, first) for the rows that are held and then for each block that is read; `first` is its first
  /// row among these. Blocks are prepared if a plan is known, or for themselves if they are only searched; measure: of
  /// the search, in which no distance may lose its digits.
  template <class Work>
  void for_blocks(const Work& work, std::optional<Measure> measure = {}) const;
  /// Calls work(points, first) for each block that is read, with its state. Returns the range of the rows that are held
  /// and, if the points are only searched, of all rows.
  template <class Work>
  ColumnRange for_read_blocks(const Work& work) const;
  /// Calls work(points) for the rows that are held and for each block that is read, whose state it may change.
  template <class Work>
  void change_state(const Work& work);
  std::span<const double> weights_of(std::int64_t first, std::int64_t count) const;
  /// The state of `count` rows from `first` on, which are read.
  RowState state(std::int64_t first, std::int64_t count) const;
  /// The weighted integer of the kept distance of a row that is read.
  std::int64_t fixed_distance(std::int64_t place, FixedScale scale) const;
  /// (groups) Inclusive totals of groups of rows that are read.
  std::vector<std::int64_t> group_totals(FixedScale scale) const;
  void update_sums_of(std::span<const std::int64_t> rows, ClusterSums& sums);

  Backend& backend_;
  RowReader& reader_;
  std::span<const double> weights_;
  std::int64_t first_row_;        // what is added to places of rows for their numbers
  std::int64_t held_rows_ = 0;    // m
  std::unique_ptr<Points> held_;  // null: no rows
  DataPlan plan_;
  bool prepared_ = false;
  bool only_searched_;
  Matrix<double> candidates_;  // (t, d) of the last try_candidates()
  std::int64_t clusters_ = 0;  // of the last assignment; 0: none
  // Of rows m .. n - 1.
  mutable UninitializedVector<std::int32_t> label_{}, summed_{};
  mutable UninitializedVector<double> distance_{};
};

}  // namespace kith
