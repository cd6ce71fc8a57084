// Points made of points: rows that several devices, or several processes, hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/points/backend.h"
#include "core/points/communicator.h"
#include "core/runtime/threads.h"

namespace kith {

/// The integers of results in one array, so that several processes add them in one message. Results go in by add() and
/// come out by take(), in the same order.
class Integers {
 public:
  Integers() = default;
  /// `count` zeros.
  explicit Integers(std::size_t count) : values_(count, 0) {}

  Integers& add(std::int64_t value) {
    values_.push_back(value);
    return *this;
  }
  Integers& add(std::span<const std::int64_t> values) {
    values_.insert(values_.end(), values.begin(), values.end());
    return *this;
  }
  Integers& add(std::span<const Limbs> values) {
    for (const Limbs& limbs : values) add(limbs.high).add(limbs.low);
    return *this;
  }
  Integers& add(const Assignment& assignment) {
    return add(assignment.counts)
        .add(assignment.changed)
        .add(assignment.screened)
        .add(assignment.products)
        .add(assignment.ambiguous)
        .add(assignment.candidates);
  }
  Integers& add(const ClusterSums& sums) { return add(sums.high).add(sums.low).add(std::span(sums.weights)); }

  /// Adds the integers of a result of the same shape to these.
  void add_each(const Integers& other) {
    for (std::size_t i = 0; i < other.values_.size(); ++i) values_[i] += other.values_[i];
  }
  std::span<std::int64_t> values() { return values_; }

  /// In the order of add(): adds the next integers to a result.
  void take(std::int64_t& to) { to += values_[next_++]; }
  void take(std::span<std::int64_t> to) {
    for (std::int64_t& value : to) take(value);
  }
  void take(std::span<Limbs> to) {
    for (Limbs& limbs : to) {
      take(limbs.high);
      take(limbs.low);
    }
  }
  void take(Assignment& assignment) {
    take(assignment.counts);
    for (std::int64_t* count : {&assignment.changed, &assignment.screened, &assignment.products, &assignment.ambiguous,
                                &assignment.candidates})
      take(*count);
  }
  void take(ClusterSums& sums) {
    take(sums.high);
    take(sums.low);
    take(std::span(sums.weights));
  }

 private:
  std::vector<std::int64_t> values_;
  std::size_t next_ = 0;
};

/// Rows that follow one another: those of process 0, of process 1, and so on; within a process those of its shards. A
/// shard is held with its row number in the whole data set (PointBlock::first_row).
///
/// Every operation gives the same bits as with all rows in one place: sums of integers are added, ranges and largest
/// distances are maxima, lists are merged by (D, row), and single rows come from the shard that has them. All processes
/// get all results. Shards of a process work at the same time, each with a thread of its own.
class ComposedPoints final : public Points {
 public:
  struct Shards {
    std::vector<std::unique_ptr<RowReader>> readers{};  // from which points are read; none if they are not
    std::vector<std::unique_ptr<Points>> points{};
  };
  /// shards: of this process, each with rows and held by a backend of its own; there may be none. columns: of all
  /// shards. The backend, which holds other rows for hold(), and the communicator must outlive the points. first_row:
  /// the number of the first row of all processes.
  ComposedPoints(Shards shards, std::int64_t columns, Backend& backend, Communicator& processes,
                 std::int64_t first_row = 0);

  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  /// Rows are held by one device: rows that are tried one after another would wait for several at each step.
  std::unique_ptr<Points> hold(const PointBlock& block) const override {
    return shards_.empty() ? backend_.hold(block) : shards_.front()->hold(block);
  }
  int threads() const override { return shards_.empty() ? 1 : shards_.front()->threads(); }

  void add_range(ColumnRange&) const override;
  void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const override;
  void prepare(const DataPlan&) override;
  void reset() override;
  std::vector<FarRow> farthest(std::int64_t count) const override;
  void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const override;
  // In one process only.
  void set_state(const RowState& from) override;
  void copy_state(const RowState& out) const override;
  void take_choices(const Points& from) override;

  void assign(const AssignRequest&, Assignment&) override;
  void measure(const MeasureRequest&, std::span<Limbs> inertia) override;
  bool nearest_rows(const NearestRowsRequest&, NearestRows&) const override;
  void update_sums(ClusterSums&) override;
  void sweep(const SweepRequest&, Assignment&) override;
  IterateResult iterate(const IterateRequest&, LloydState&) override;
  IterateResult iterate_shards(std::span<Points* const> shards, Threads&, Communicator&, const IterateRequest&,
                               LloydState&) override;
  bool iterates_in_shards(std::int64_t count) const override;
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
  /// Calls work(points, p) for each shard p, all at the same time.
  template <class Work>
  void for_shards(const Work& work) const;
  /// The sum, over all shards of all processes, of the integers that work(points, p) returns. none: those without rows.
  template <class Work>
  Integers sum(Integers none, const Work& work) const;
  /// The largest over all shards and processes of work(points).
  template <class Work>
  double largest(const Work& work) const;
  /// Merges lists of other rows, (q, k) each, into those of queries from `first` on.
  void merge_lists(NeighborLists& lists, std::int64_t first, MatrixView<const std::int64_t> rows,
                   MatrixView<const double> distances) const;
  /// The queries with the share of the host memory that the search of one shard may take.
  Queries of_shard(const Queries& queries) const;
  std::int64_t rows_here() const { return firsts_.back() - firsts_.front(); }
  /// The shard of this process that has a row; their number if none has.
  std::size_t shard_with(std::int64_t row) const;
  /// The state of shard p among that of all rows.
  RowState state_of(const RowState& all, std::size_t p) const;
  /// The values of shard p among those of all rows.
  template <class T>
  std::span<T> slice(std::span<T> values, std::size_t p) const;
  /// Fills the values of other processes' rows; those of this one are filled.
  template <class T>
  void share_rows(std::span<T> values) const;
  /// The places of `rows` that each shard of this process has.
  std::vector<std::vector<std::size_t>> places_by_shard(std::span<const std::int64_t> rows) const;

  std::vector<std::unique_ptr<RowReader>> readers_;
  std::vector<std::unique_ptr<Points>> shards_;
  std::int64_t columns_, first_row_;
  Backend& backend_;
  Communicator& processes_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> firsts_;        // (shards + 1) the first row of each shard of this process, and its end
  std::vector<std::int64_t> process_rows_;  // (processes)
  std::unique_ptr<Threads> threads_;
};

template <class Work>
void ComposedPoints::for_shards(const Work& work) const {
  if (!shards_.empty()) threads_->run_on_each([&](std::size_t p) { work(*shards_[p], p); });
}

template <class Work>
Integers ComposedPoints::sum(Integers none, const Work& work) const {
  std::vector<Integers> of_shards(shards_.size());
  for_shards([&](Points& points, std::size_t p) { of_shards[p] = work(points, p); });
  for (const Integers& shard : of_shards) none.add_each(shard);
  add_sparse(processes_, none.values());
  return none;
}

/// A backend made of backends: the rows of each block are divided among several devices.
class ComposedBackend final : public Backend {
 public:
  /// backends: at least one, of the same kind. A shard has at least `least_rows` rows, so that small blocks are held by
  /// fewer of them.
  ComposedBackend(std::vector<std::unique_ptr<Backend>> backends, std::int64_t least_rows);

  /// That of the first, with the memory of all.
  Device device() const override;
  std::unique_ptr<Points> hold(const PointBlock&) override;
  std::int64_t device_bytes() const override;
  std::vector<Decision> decisions() const override;

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::int64_t least_rows_;
  SingleProcess alone_;
};

}  // namespace kith
