// Rows that a backend holds: requests, results, and the operations on them, for k-means, seeding and neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/numbers/distance.h"
#include "core/numbers/fixed_point.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"
#include "core/points/observer.h"
#include "core/points/weights.h"
#include "core/runtime/portable.h"

namespace kith {

class Communicator;
class Points;
class Threads;
struct PointBlock;

/// A row and its squared distance to the centroid of its cluster.
struct FarRow {
  double distance = 0.0;
  std::int64_t row = 0;
  std::int32_t label = 0;
};

/// The `count` rows with the largest distance among those added; ties: the lowest row. At most n log(count).
class FarthestRows {
 public:
  explicit FarthestRows(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}
  void add(const FarRow& row) {
    if (kept_.size() == count_) {
      if (count_ == 0 || !is_farther(row, kept_.front())) return;
      std::pop_heap(kept_.begin(), kept_.end(), is_farther);
      kept_.pop_back();
    }
    kept_.push_back(row);
    std::push_heap(kept_.begin(), kept_.end(), is_farther);
  }
  /// The kept rows by (distance descending, row ascending). Leaves nothing.
  std::vector<FarRow> take() {
    std::sort_heap(kept_.begin(), kept_.end(), is_farther);
    return std::exchange(kept_, {});
  }

 private:
  static bool is_farther(const FarRow& a, const FarRow& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  }

  std::size_t count_;
  std::vector<FarRow> kept_;  // a heap; the nearest of them is in front
};

/// What a backend keeps for n rows.
struct RowState {
  std::int64_t clusters = 0;              // if not 0, all labels are those of an assignment to so many centroids
  std::span<std::int32_t> label, summed;  // (n) the label, and the label in the sums
  std::span<double> distance;             // (n) kept squared distance
};

enum class Stop { none, labels, tolerance, max_iterations };

/// The rules of docs/contract.md, Stopping.
struct StopRule {
  double threshold = -1.0;  // stop at a squared shift of at most this; negative: never
  std::int64_t max_iterations = 300;

  /// The rule that stops after iteration number `iterations`, whose record is `last`. The first iteration is not tested
  /// for labels and tolerance, since it has no predecessor.
  KITH_BOTH Stop test(std::int64_t iterations, const IterationRecord& last) const {
    const bool comparable = iterations >= 2;
    if (comparable && last.changed == 0 && last.relocated == 0) return Stop::labels;
    if (comparable && last.shift <= threshold) return Stop::tolerance;
    return iterations >= max_iterations ? Stop::max_iterations : Stop::none;
  }
};

/// A request to assign every row to its nearest centroid.
struct AssignRequest {
  MatrixView<const double> centroids;  // (k, d)
};

/// The totals of one assignment. Blocks of points ADD to it.
struct Assignment {
  explicit Assignment(std::int64_t clusters) : counts(clusters, 0) {}
  std::vector<std::int64_t> counts;  // (k) rows per cluster
  std::int64_t changed = 0;          // rows whose label differs from the one in the sums (all rows the first time)
  std::int64_t screened = 0;         // rows that a screen scored
  std::int64_t products = 0;         // scores of rows and centroids computed by screens
  std::int64_t ambiguous = 0;        // rows that the screen could not certify
  std::int64_t candidates = 0;       // distances computed by the definition for these
};

/// A request to measure every row's distance to the centroid of its label.
struct MeasureRequest {
  MatrixView<const double> centroids;  // (k, d)
  FixedScale inertia;                  // grid of the inertia sums (high limb)
  int inertia_bits = 0;                // the low limb's grid is 2^-inertia_bits of the high limb's grid
};

/// Integer sums of the rows of each cluster on the grid of ColumnScales, times their weights.
struct ClusterSums {
  ClusterSums(std::int64_t clusters, std::int64_t columns, int limbs)
      : limbs(limbs), high(clusters * columns, 0), low(limbs == 2 ? clusters * columns : 0, 0) {}
  int limbs;
  std::vector<std::int64_t> high;  // (k, d)
  std::vector<std::int64_t> low;   // (k, d), empty with one limb
  std::vector<Limbs> weights;      // (k) on the grid of Weights; empty if rows are not weighted
};

/// A request for all that an iteration does with a row, so that points that are read from a file are read once.
struct SweepRequest {
  MatrixView<const double> centroids;       // (k, d)
  ClusterSums* sums = nullptr;              // null: update_sums() is not part of it
  const MeasureRequest* measure = nullptr;  // to the same centroids; null: measure() is not part of it
  std::span<Limbs> inertia = {};            // (k) of measure()
};

/// The state that one iteration passes to the next.
struct LloydState {
  Matrix<double> centroids;          // (k, d)
  ClusterSums sums;                  // for the labels of the last update_sums() or iterate()
  std::vector<std::int64_t> counts;  // (k) rows per cluster of the last assignment
};

/// A request for whole iterations.
struct IterateRequest {
  StopRule stop;
  std::int64_t iterations = 0;  // of the run so far
  double spread = 0.0;          // inertia of all rows around DataPlan::mean
  bool relocates = false;       // whether empty clusters take rows by relocate_empty_clusters(), if the backend can
};

/// Iterations that a backend has run without the host.
struct IterateResult {
  std::vector<IterationRecord> records;  // one per whole iteration
  bool converged = false;                // the last iteration changed no bit of the centroids
  /// The assignment of a further iteration that left clusters empty, which the backend did not fill: its rows are in
  /// the sums already, and the centroids are still those of the assignment.
  std::optional<Assignment> unfinished;
};

/// Most seeding candidates of one trial. Greedy k-means++ has 2 + floor(ln k), 23 for the largest k.
inline constexpr int kMostCandidates = 32;

/// Queries of a neighbour search.
struct Queries {
  MatrixView<const double> values;  // (q, d)
  /// The row number of query 0 if the queries are rows of the searched set and each is excluded from its own list; -1
  /// if nothing is excluded.
  std::int64_t excluded_row = -1;
  Measure measure = Measure::squared_euclidean;
  /// Limit of the workspace, in bytes, on a device with its own memory, besides the rows; 0: as much as makes it fast.
  std::int64_t working_bytes = 0;
  std::int64_t host_bytes = std::int64_t{1} << 30;  // of the host's memory that the search may keep besides the rows
  std::int64_t cell_bytes = std::numeric_limits<std::int64_t>::max();  // the same for cells of the rows
};

/// A row of the searched set and its D.
struct Neighbor {
  double distance = 0.0;
  std::int64_t row = 0;
  /// The order of lists.
  friend bool operator<(const Neighbor& a, const Neighbor& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
  }
};

/// Per query the k nearest rows so far, ordered by (D, index); empty places hold (+inf, -1). Searching another block of
/// rows with the same lists merges in place.
struct NeighborLists {
  NeighborLists() = default;
  NeighborLists(std::int64_t queries, std::int64_t neighbors);
  /// Lists whose memory nothing has touched, for those that fill it all, several threads or while a device works.
  static NeighborLists uninitialized(std::int64_t queries, std::int64_t neighbors);
  Matrix<double> distance;     // (q, k) D
  Matrix<std::int64_t> index;  // (q, k)
  // Counts of the work. Backends ADD to them.
  std::int64_t products = 0;          // scores of queries and rows computed by screens
  std::int64_t candidates = 0;        // distances computed by the definition
  std::int64_t fallback_queries = 0;  // queries that the first screen could not complete
};

/// Where lists are written, (q, k) each.
struct ListsView {
  MatrixView<double> distance;
  MatrixView<std::int64_t> index;

  explicit ListsView(NeighborLists& lists) : distance(lists.distance.view()), index(lists.index.view()) {}
  ListsView(NeighborLists& lists, std::int64_t first, std::int64_t count)
      : distance(lists.distance.view().middle(first, count)), index(lists.index.view().middle(first, count)) {}
  /// Makes all lists empty.
  void clear() const {
    std::fill_n(distance.data, distance.size(), std::numeric_limits<double>::infinity());
    std::fill_n(index.data, index.size(), -1);
  }
};

/// A request for the nearest rows of every held row.
struct SelfJoin {
  std::int64_t neighbors = 0;
  bool include_self = false;  // keep each row in its own list
  Measure measure = Measure::squared_euclidean;
  std::int64_t bytes = std::int64_t{1} << 30;  // of the host's memory that may be used besides the lists
  /// Called from time to time with the number of completed rows. An exception ends the search.
  std::function<void(std::int64_t rows)> progress = nullptr;
};

/// Per query every row with D <= limit. Searching another block of rows with the same object adds to it.
struct RadiusLists {
  RadiusLists(std::int64_t queries, double most, std::int64_t capacity)
      : limit(most), capacity(capacity), counts(static_cast<std::size_t>(queries), 0), rows(counts.size()) {}

  double limit;
  std::int64_t capacity;                    // rows that may be stored, for all queries together
  std::int64_t first_row = 0;               // rows with lower numbers are skipped
  std::vector<std::int64_t> counts;         // (q) number of rows within the limit, stored or not
  std::vector<std::vector<Neighbor>> rows;  // (q) in no order; incomplete if there are more than `capacity`

  std::int64_t total() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
  /// True if `rows` holds every row that was counted.
  bool is_complete() const { return total() <= capacity; }
};

/// A request for sums of distances to the rows of each cluster.
struct ClusterDistancesRequest {
  MatrixView<const double> queries;  // (q, d)
  FixedScale scale;                  // grid of the distances
  /// (q, k): 1 for the sums that the caller reads, 0 where any value will do; no data: all.
  MatrixView<const std::uint8_t> wanted = {};

  /// Whether one of the queries from first to last, exclusive, wants the sum of a cluster.
  bool any_wants(std::int64_t cluster, std::int64_t first, std::int64_t last) const {
    for (std::int64_t q = first; wanted.data != nullptr && q < last; ++q) {
      if (wanted(q, cluster) != 0) return true;
    }
    return wanted.data == nullptr;
  }
};

/// A request for the row nearest to each centroid, over all rows. The points must have been assigned to these centroids
/// and measured.
struct NearestRowsRequest {
  MatrixView<const double> centroids;  // (k, d)
};

/// The row with the smallest D to each centroid so far; ties: the lowest row. Blocks of points merge into it.
struct NearestRows {
  explicit NearestRows(std::int64_t clusters)
      : best(static_cast<std::size_t>(clusters), {std::numeric_limits<double>::infinity(), -1}) {}
  std::vector<Neighbor> best;  // (k)
  // Counts of the work. Blocks of points ADD to them.
  std::int64_t candidates = 0;  // distances computed by the definition
  std::int64_t searched = 0;    // centroids of a general search, which followed where candidates were too many
};

/// The number of candidates, for n rows and k centroids, from which on a general search is likely to be faster.
inline std::int64_t max_nearest_candidates(std::int64_t rows, std::int64_t clusters) {
  return rows * std::max<std::int64_t>(8, clusters / 64);
}

/// Rows that a backend holds where it computes, with all operations on them. Row numbers are global: first_row of the
/// block + position. Not thread-safe: one caller at a time.
///
/// Per row, the backend keeps a label (-1 at first), the label that the sums of update_sums() contain, and a squared
/// distance (+inf at first).
class Points {
 public:
  virtual ~Points() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;

  // Called once, before every other operation: what make_plan() needs, then its result.
  /// Extends the range of each column by these rows.
  virtual void add_range(ColumnRange&) const = 0;
  /// Adds the integer sums of each column on the grid of the scales.
  virtual void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const = 0;
  /// Makes the points ready. The plan is that of the whole data set.
  virtual void prepare(const DataPlan&) = 0;

  /// Restores the state after prepare(): labels -1, no row in the sums, distances +inf.
  virtual void reset() = 0;
  /// The `count` rows (or all, if fewer) with the largest kept distance, by (distance descending, row ascending).
  virtual std::vector<FarRow> farthest(std::int64_t count) const = 0;
  /// Values of the given rows as float64. out: (rows.size(), d)
  virtual void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const = 0;
  /// Sets the state of all rows, as copy_state() has returned it for rows of these values, and copies it.
  virtual void set_state(const RowState& /*from*/) { unsupported("rows that are read in each pass"); }
  virtual void copy_state(const RowState& /*out*/) const { unsupported("rows that are read in each pass"); }
  /// Takes over which screens were the fastest for other rows of the data set, held by the same backend. No result
  /// depends on it.
  virtual void take_choices(const Points& /*from*/) {}

  /// Other rows, held by the same backend.
  virtual std::unique_ptr<Points> hold(const PointBlock&) const = 0;
  /// The threads of the processor that may work while this does not.
  virtual int threads() const { return 1; }

  // Lloyd's iteration.

  /// Sets the label of every row to the argmin of D over the centroids (ties: lowest index). Adds to the result.
  virtual void assign(const AssignRequest&, Assignment&) { unsupported("assignments"); }
  /// Sets the kept distance of every row to D to the centroid of its label. Adds the weighted sums per cluster, in two
  /// limbs, to inertia (k).
  virtual void measure(const MeasureRequest&, std::span<Limbs> /*inertia*/) { unsupported("inertia"); }
  /// Finds the row nearest to each centroid over all rows, by the labels and distances of the last assign() and
  /// measure(), which must have been to these centroids. Merges into the result. False if these leave too many
  /// candidates: the result may then lack rows, which search() finds (find_nearest_rows() of core/kmeans/result.h).
  virtual bool nearest_rows(const NearestRowsRequest&, NearestRows&) const { return false; }
  /// Adds to the sums what changed in the labels since the last call: a row that changed its cluster is subtracted from
  /// the old one and added to the new one. After reset() every labelled row is added.
  virtual void update_sums(ClusterSums&) { unsupported("cluster sums"); }
  /// assign(), then update_sums() and measure() if the request has them.
  virtual void sweep(const SweepRequest& request, Assignment& assignment) {
    assign({request.centroids}, assignment);
    if (request.sums != nullptr) update_sums(*request.sums);
    if (request.measure != nullptr) measure(*request.measure, request.inertia);
  }
  /// Runs whole iterations (assign, update_sums, new centroids, stop tests) as long as the backend can do without the
  /// host, for about half a second, with the same bits as one operation at a time. Ends when a stop rule fires or a
  /// cluster stays empty. Without records and without an unfinished assignment the caller runs the next iteration
  /// itself. The points must hold all rows of the data set.
  virtual IterateResult iterate(const IterateRequest&, LloydState&) { return {}; }
  /// iterate() over rows that several devices and processes hold. shards: the rows of this process, of which these are
  /// the first, each held by a device of the same kind. All processes call it at the same time, with the same request
  /// and state; if one of them does not iterate in shards, none may call it.
  virtual IterateResult iterate_shards(std::span<Points* const> /*shards*/, Threads&, Communicator&,
                                       const IterateRequest&, LloydState&) {
    return {};
  }
  /// Whether iterate_shards() does anything. count: of the shards.
  virtual bool iterates_in_shards(std::int64_t /*count*/) const { return false; }
  /// Changes the label of one row (relocation).
  virtual void relabel(std::int64_t /*row*/, std::int32_t /*label*/) { unsupported("relocation"); }
  /// Sets all labels. labels: (n)
  virtual void set_labels(std::span<const std::int32_t> /*labels*/) { unsupported("given labels"); }
  /// Copies the labels. out: (n)
  virtual void labels(std::span<std::int32_t> /*out*/) const { unsupported("labels"); }
  /// Copies the kept squared distances. out: (n)
  virtual void distances(std::span<double> /*out*/) const { unsupported("distances"); }

  // Seeding. The kept distance of a row is the smallest D to any seed so far. Begins with reset().

  /// Kept distance = min(kept distance, D(x, seed)). Returns the largest kept distance afterwards. seed: (d)
  virtual double update_min_distance(std::span<const double> /*seed*/) { unsupported("seeding"); }
  /// Sum over rows of to_fixed(kept distance); here and below of weighted_fixed() if rows have weights.
  virtual std::int64_t total_min_distance(FixedScale) const { unsupported("seeding"); }
  /// rows[t] = the first row whose inclusive prefix sum of to_fixed(kept distance) exceeds targets[t]
  /// (0 <= target < total).
  virtual void draw_rows(FixedScale, std::span<const std::int64_t> /*targets*/,
                         std::span<std::int64_t> /*rows*/) const {
    unsupported("seeding");
  }
  /// Adds to totals[t] the sum over rows of to_fixed(min(kept distance, D(x, candidate t))). candidates: (t, d), at
  /// most kMostCandidates. The points keep the candidates for commit_candidate().
  virtual void try_candidates(MatrixView<const double> /*candidates*/, FixedScale, std::span<std::int64_t> /*totals*/) {
    unsupported("seeding");
  }
  /// update_min_distance() for one of the candidates of the last try_candidates(). At most once per trial.
  virtual double commit_candidate(std::int64_t /*chosen*/) { unsupported("seeding"); }

  // Neighbours and distances.

  /// Merges the k nearest of these rows into the lists.
  virtual void search(const Queries&, NeighborLists&) const { unsupported("neighbour search"); }
  /// Lists (n, k) of the nearest of these rows for each of them, faster than by search(), which gives the same lists:
  /// by a symmetric join, where each pair of rows is scored once, or without copies of the queries. Nothing if that
  /// does not pay or memory is short. The points must hold all rows of the data set.
  virtual std::optional<NeighborLists> self_join(const SelfJoin&) const { return std::nullopt; }
  /// self_join() of rows that several devices hold: each takes all rows, and finds the lists of its own. shards: all
  /// rows in their order, of which these are the first, each held by a device of the same kind.
  virtual std::optional<NeighborLists> join_shards(std::span<const Points* const> /*shards*/, Threads&,
                                                   const SelfJoin&) const {
    return std::nullopt;
  }
  /// Adds the rows within the limit of each query.
  virtual void search_radius(const Queries&, RadiusLists&) const { unsupported("radius search"); }
  /// D of every query and every row, none excluded. out: (q, n)
  virtual void all_distances(const Queries&, MatrixView<double> /*out*/) const { unsupported("distances"); }
  /// Adds to sums(i, c) the sum over the rows of label c of to_fixed(square root of D(query i, row)). sums: (q, k).
  /// Rows whose label is not one of 0 .. k - 1 are skipped. Sums that are not wanted may lack terms.
  virtual void cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t> /*sums*/) const {
    unsupported("sums of distances");
  }
  /// lower(i, c) and upper(i, c): bounds of the sum of the square roots of D(query i, row) over the rows of label c, by
  /// products of low precision; anything where not wanted. (q, k) each. Returns false if it has nothing faster than
  /// cluster_distances(); the bounds are undefined then.
  virtual bool bound_cluster_distances(const ClusterDistancesRequest&, MatrixView<double> /*lower*/,
                                       MatrixView<double> /*upper*/) const {
    return false;
  }

 protected:
  /// The default of most operations, so that a new backend can begin with some of them.
  [[noreturn]] static void unsupported(const std::string& operation) {
    throw Error(ExitCode::device, "this backend does not implement " + operation);
  }
};

/// draw_rows() of a part of the rows, whose prefix sums go from `before` to before + total, for the targets among
/// these, all at once: a GPU takes as long for one as for thousands. The other places of `rows` stay as they are.
inline void draw_rows_of_part(const Points& part, FixedScale scale, std::int64_t before, std::int64_t total,
                              std::span<const std::int64_t> targets, std::span<std::int64_t> rows) {
  std::vector<std::int64_t> own;
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (targets[t] < before || targets[t] >= before + total) continue;
    own.push_back(targets[t] - before);
    places.push_back(t);
  }
  if (own.empty()) return;
  std::vector<std::int64_t> drawn(own.size());
  part.draw_rows(scale, own, drawn);
  for (std::size_t i = 0; i < places.size(); ++i) rows[places[i]] = drawn[i];
}

}  // namespace kith
