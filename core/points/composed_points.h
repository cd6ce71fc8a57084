// Points made of points: rows that several devices, or several processes, hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/numbers/integers.h"
#include "core/points/backend.h"
#include "core/points/communicator.h"
#include "core/runtime/part_threads.h"

namespace kith {

/// Rows that follow one another: those of process 0, of process 1, and so on; within a process those of its parts. A
/// part is held with its row number in the whole data set (PointBlock::first_row).
///
/// Every operation gives the same bits as with all rows in one place: sums of integers are added, ranges and largest
/// distances are maxima, lists are merged by (D, row), and single rows come from the part that has them. All processes
/// get all results. Parts of a process work at the same time, each with a thread of its own.
class ComposedPoints final : public Points {
 public:
  struct Parts {
    std::vector<std::unique_ptr<RowReader>> readers{};  // from which points are read; none if they are not
    std::vector<std::unique_ptr<Points>> points{};
  };
  /// parts: of this process, each with rows and held by a backend of its own; there may be none. columns: of all parts.
  /// The backend, which holds other rows for hold(), and the communicator must outlive the points. first_row: the
  /// number of the first row of all processes.
  ComposedPoints(Parts parts, std::int64_t columns, Backend& backend, Communicator& processes,
                 std::int64_t first_row = 0);

  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  std::unique_ptr<Points> hold(const PointBlock& block) const override { return backend_.hold(block); }

  void add_range(ColumnRange&) const override;
  void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const override;
  void prepare(const DataPlan&) override;
  void reset() override;
  std::vector<FarRow> farthest(std::int64_t count) const override;
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override;
  // In one process only.
  void set_state(const RowState& from) override;
  void copy_state(const RowState& out) const override;
  void take_choices(const PointSet& from) override;

  void assign(const AssignRequest&, Assignment&) override;
  void measure(const MeasureRequest&, std::span<Limbs> inertia) override;
  bool nearest_rows(const NearestRowsRequest&, NearestRows&) const override;
  void update_sums(ClusterSums&) override;
  void sweep(const SweepRequest&, Assignment&) override;
  IterateResult iterate(const IterateRequest&, LloydState&) override;
  IterateResult iterate_parts(std::span<Points* const> parts, PartThreads&, Communicator&, const IterateRequest&,
                              LloydState&) override;
  bool iterates_in_parts(std::int64_t count) const override;
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
  std::optional<NeighborLists> self_join(const SelfJoin&) const override;
  void search_radius(const Queries&, RadiusLists&) const override;
  void all_distances(const Queries&, MatrixView<double> out) const override;
  void cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t> sums) const override;

 private:
  /// Calls work(points, p) for each part p, all at the same time, as PartThreads does.
  template <class Work>
  void for_parts(const Work& work) const;
  /// The sum, over all parts of all processes, of the integers that work(points, p) returns. none: those without rows.
  template <class Work>
  Integers sum(Integers none, const Work& work) const;
  /// The largest over all parts and processes of work(points).
  template <class Work>
  double largest(const Work& work) const;
  /// Merges lists of other rows, (q, k) each, into those of queries from `first` on.
  void merge_lists(NeighborLists& lists, std::int64_t first, MatrixView<const std::int64_t> rows,
                   MatrixView<const double> distances) const;
  /// The queries with the share of the host memory that the search of one part may take.
  Queries of_part(const Queries& queries) const;
  std::int64_t rows_here() const { return firsts_.back() - firsts_.front(); }
  /// The part of this process that has a row; parts() if none has.
  std::size_t part_of(std::int64_t row) const;
  /// The state of part p among that of all rows.
  RowState state_of(const RowState& all, std::size_t p) const;
  /// The values of part p among those of all rows.
  template <class T>
  std::span<T> slice(std::span<T> values, std::size_t p) const;
  /// Fills the values of other processes' rows; those of this one are filled.
  template <class T>
  void share_rows(std::span<T> values) const;
  /// The places of `rows` that each part of this process has.
  std::vector<std::vector<std::size_t>> places_by_part(std::span<const std::int64_t> rows) const;

  std::vector<std::unique_ptr<RowReader>> readers_;
  std::vector<std::unique_ptr<Points>> parts_;
  std::int64_t columns_, first_row_;
  Backend& backend_;
  Communicator& processes_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> firsts_;        // (parts + 1) the first row of each part of this process, and its end
  std::vector<std::int64_t> process_rows_;  // (processes)
  std::unique_ptr<PartThreads> threads_;
};

template <class Work>
void ComposedPoints::for_parts(const Work& work) const {
  threads_->run([&](std::size_t p) { work(*parts_[p], p); });
}

template <class Work>
Integers ComposedPoints::sum(Integers none, const Work& work) const {
  std::vector<Integers> of_parts(parts_.size());
  for_parts([&](Points& points, std::size_t p) { of_parts[p] = work(points, p); });
  for (const Integers& part : of_parts) none.add_each(part);
  add_sparse(processes_, none.values());
  return none;
}

}  // namespace kith
