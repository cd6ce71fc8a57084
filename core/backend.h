// The seam between the mathematics and the hot loops: points stay where they are held, centroids go up, integer sums
// come down. Nothing above this line knows where the points are, in how many pieces, or in which precision.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/data_plan.h"
#include "core/matrix.h"
#include "core/measure.h"
#include "core/observer.h"
#include "core/stop_rule.h"

namespace kith {

/// A request to assign every row to its nearest centroid.
struct AssignRequest {
  MatrixView<const double> centroids;  // (k, d)
};

/// What one assignment adds up. Blocks of points ADD to it.
struct Assignment {
  explicit Assignment(std::int64_t clusters) : counts(clusters, 0) {}
  std::vector<std::int64_t> counts;  // (k) rows per cluster
  std::int64_t changed = 0;          // rows whose label is not the one in the sums (all rows the first time)
  std::int64_t screened = 0;         // rows that went through the screen
  std::int64_t ambiguous = 0;        // rows that the screen could not decide
  std::int64_t candidates = 0;       // distances computed by the definition for them
};

/// A request to measure every row's distance to the centroid of its label.
struct MeasureRequest {
  MatrixView<const double> centroids;  // (k, d)
  FixedScale inertia;                  // grid of the inertia sums (high limb)
  int inertia_bits = 0;                // the low limb's grid is 2^-inertia_bits of the high one's
};

/// Integer sums of the rows of each cluster on the grid of ColumnScales, times their weights.
struct ClusterSums {
  ClusterSums(std::int64_t clusters, std::int64_t columns, int limbs)
      : limbs(limbs), high(clusters * columns, 0), low(limbs == 2 ? clusters * columns : 0, 0) {}
  int limbs;
  std::vector<std::int64_t> high;  // (k, d)
  std::vector<std::int64_t> low;   // (k, d), empty with one limb
  std::vector<Limbs> weights;      // (k) on the grid of Weights; empty where rows are not weighted
};

/// What one step of Lloyd's iteration leaves for the next.
struct LloydState {
  Matrix<double> centroids;          // (k, d)
  ClusterSums sums;                  // of the labels that the last update_sums() or iterate() found
  std::vector<std::int64_t> counts;  // (k) rows per cluster of the last assignment
};

/// A request for whole iterations.
struct IterateRequest {
  StopRule stop;
  std::int64_t iterations = 0;  // of the run so far
  double spread = 0.0;          // inertia of all rows around DataPlan::mean
};

/// Iterations that a backend has done by itself.
struct IterateResult {
  std::vector<IterationRecord> records;  // one per whole iteration
  bool converged = false;                // the last of them changed no bit of the centroids
  /// The assignment that began another iteration but left clusters empty: its rows are in the sums already, the
  /// centroids are still those that it was made to.
  std::optional<Assignment> unfinished;
};

/// Seeding candidates that are tried at once. Greedy k-means++ has 2 + floor(ln k), 23 for the largest k.
inline constexpr int kMostCandidates = 32;

/// A row and its squared distance to the centroid it belongs to.
struct FarRow {
  double distance = 0.0;
  std::int64_t row = 0;
  std::int32_t label = 0;
};

/// Queries of a neighbour search.
struct Queries {
  MatrixView<const double> values;  // (q, d)
  /// The row number of query 0 when the queries are rows of the searched set and each is to be left out of its own
  /// list; -1 when nothing is left out.
  std::int64_t excluded_row = -1;
  Measure measure = Measure::squared_euclidean;
  /// Bytes that a device with its own memory should be content with beside the rows; 0: as many as make it fast.
  std::int64_t working_bytes = 0;
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

/// A request for sums of distances to the rows of each cluster.
struct ClusterDistancesRequest {
  MatrixView<const double> queries;  // (q, d)
  FixedScale scale;                  // grid of the distances
};

/// Per query the k nearest rows found so far, ordered by (D, index); unfilled capacity hold (+inf, -1). Searching
/// another block of rows with the same lists merges in place.
struct NeighborLists {
  NeighborLists(std::int64_t queries, std::int64_t neighbors);
  Matrix<double> distance;     // (q, k) D
  Matrix<std::int64_t> index;  // (q, k)
  // How they were found. Backends ADD what they count.
  std::int64_t candidates = 0;        // distances computed by the definition
  std::int64_t fallback_queries = 0;  // queries that the first screen could not complete
};

/// A request for the nearest rows of every held row.
struct SelfJoin {
  std::int64_t neighbors = 0;
  bool include_self = false;  // keep each row in its own list
  Measure measure = Measure::squared_euclidean;
  std::int64_t bytes = std::int64_t{1} << 30;  // of the host's memory that may be taken beside the lists
  /// Called now and then with the number of rows whose work is done. What it throws ends the search.
  std::function<void(std::int64_t rows)> progress = nullptr;
};

/// Per query every row with D <= limit. Searching another block of rows with the same object adds to it.
struct RadiusLists {
  RadiusLists(std::int64_t queries, double most, std::int64_t capacity)
      : limit(most), capacity(capacity), counts(static_cast<std::size_t>(queries), 0), rows(counts.size()) {}

  double limit;
  std::int64_t capacity;                    // rows that may be kept, of all queries together
  std::int64_t first_row = 0;               // rows with lower numbers are not wanted
  std::vector<std::int64_t> counts;         // (q) all of them, also when they are not kept
  std::vector<std::vector<Neighbor>> rows;  // (q) in no order; may hold less when there were more than capacity

  std::int64_t total() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
  /// Do `rows` hold all that were counted?
  bool is_complete() const { return total() <= capacity; }
};

/// Rows that arrive in their memory, from the first on, while a backend takes them.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Waits until at least `rows` rows are there and returns how many are, which may be more. Throws what ended their
  /// reading. One thread at a time.
  virtual std::int64_t wait_for(std::int64_t rows) = 0;
};

/// Rows for a backend to hold. The memory behind `values` and `weights` must outlive the Points made from it.
struct PointBlock {
  PointsView values;                     // (n, d)
  std::int64_t first_row = 0;            // its row number in the whole data set
  Arrival* arrival = nullptr;            // of the values; null: they are there. All are when hold() returns.
  std::span<const double> weights = {};  // (n) above 0, those of DataPlan::weights; empty: every row weighs 1
};

/// Rows that a backend holds where it computes. Row numbers are global: first_row of the block + position.
/// Not thread-safe; one caller at a time.
///
/// Held per row between calls: a label (-1 at first), the label contained in the sums that were handed out, and a
/// squared distance (+inf at first).
class Points {
 public:
  virtual ~Points() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  /// Other rows, held by the same backend.
  virtual std::unique_ptr<Points> hold(const PointBlock&) const = 0;

  // Once, before anything else: what make_plan() asks, then what it found.
  virtual void add_range(ColumnRange&) const = 0;
  virtual void add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const = 0;
  virtual void prepare(const DataPlan&) = 0;

  // k-means.
  /// Back to the state after prepare(): labels -1, nothing in the sums, distances +inf.
  virtual void reset() = 0;
  /// Label of every row = argmin of D over the centroids (ties: lowest index); results are ADDED.
  virtual void assign(const AssignRequest&, Assignment&) = 0;
  /// Kept distance of every row = D to the centroid of its label. inertia: (k) their sums per cluster in two limbs,
  /// weighted, ADDED.
  virtual void measure(const MeasureRequest&, std::span<Limbs> inertia) = 0;
  /// ADDS to the sums what changed in the labels since the last call: rows that left are subtracted, rows that came are
  /// added. After reset() every labelled row comes.
  virtual void update_sums(ClusterSums&) = 0;
  /// Whole iterations (assign, update_sums, new centroids, stop tests) as far as the backend can do them in about half
  /// a second, with the same bits as one by one. Ends when a rule fires or a cluster is empty; no records and no
  /// unfinished assignment: do the next one by hand. All rows of the data set must be held here.
  virtual IterateResult iterate(const IterateRequest&, LloydState&) { return {}; }
  /// Gives one row another label (relocation).
  virtual void relabel(std::int64_t row, std::int32_t label) = 0;
  /// Gives every row a label. labels: (n)
  virtual void set_labels(std::span<const std::int32_t> labels) = 0;
  /// The `count` rows (or all, if fewer) with the largest kept distance, by (distance descending, row ascending).
  virtual std::vector<FarRow> farthest(std::int64_t count) const = 0;
  virtual void labels(std::span<std::int32_t>) const = 0;  // (n)
  virtual void distances(std::span<double>) const = 0;     // (n) squared, as kept
  /// Values of some rows as float64. out: (rows.size(), d)
  virtual void copy_rows(std::span<const std::int64_t> rows, MatrixView<double> out) const = 0;

  // Seeding: the kept distance is the smallest D to any seed so far. Called after reset().
  /// Kept distance = min(kept distance, D(x, seed)); returns the largest kept distance afterwards. seed: (d)
  virtual double update_min_distance(std::span<const double> seed) = 0;
  /// Sum over rows of to_fixed(kept distance), here and below weighted_fixed() where rows have weights.
  virtual std::int64_t total_min_distance(FixedScale) const = 0;
  /// rows[t] = the first row whose inclusive prefix of to_fixed(kept distance) exceeds targets[t] (0 <= target <
  /// total).
  virtual void draw_rows(FixedScale, std::span<const std::int64_t> targets, std::span<std::int64_t> rows) const = 0;
  /// totals[t] = sum over rows of to_fixed(min(kept distance, D(x, candidate t))), ADDED. candidates: (t, d), at most
  /// kMostCandidates; the points remember them for commit_candidate().
  virtual void try_candidates(MatrixView<const double> candidates, FixedScale, std::span<std::int64_t> totals) = 0;
  /// update_min_distance() to one of the candidates tried last, once per trial.
  virtual double commit_candidate(std::int64_t chosen) = 0;

  // Neighbours.
  /// Merges the k nearest of these rows into the lists.
  virtual void search(const Queries&, NeighborLists&) const = 0;
  /// Lists (n, k) of the nearest of these rows for each of them, found by looking at each pair once. Nothing where that
  /// does not pay or there is no memory for it: search() has the same lists. All rows of the data set must be held
  /// here.
  virtual std::optional<NeighborLists> self_join(const SelfJoin&) const { return std::nullopt; }
  /// Adds the rows that lie within a distance.
  virtual void search_radius(const Queries&, RadiusLists&) const = 0;
  /// D of every query and every row, none left out. out: (q, n)
  virtual void all_distances(const Queries&, MatrixView<double> out) const = 0;
  /// sums(i, c) = sum over the rows of label c of to_fixed(square root of D(query i, row)), ADDED. sums: (q, k); rows
  /// whose label is not one of 0 .. k - 1 are left out.
  virtual void cluster_distances(const ClusterDistancesRequest&, MatrixView<std::int64_t> sums) const = 0;
};

struct Device {
  std::string name;         // "NVIDIA H200", "Intel Xeon ..."
  std::string description;  // "132 SMs, 139 GiB", "AVX-512, 2 threads"
  /// Names that BackendOptions::screen may have beside "auto", best first; empty where there is no choice.
  std::vector<std::string> screens = {};
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device device() const = 0;
  /// The backend must outlive what it holds. Throws Error(device) when the block cannot be held, naming needed and
  /// free bytes.
  virtual std::unique_ptr<Points> hold(const PointBlock&) = 0;
  /// Most bytes of the device's own memory that were taken at a time, 0 where it is the host's.
  virtual std::int64_t device_bytes() const { return 0; }
};

struct BackendOptions {
  int threads = 0;                 // CPU threads; 0: those this process may use
  int device = 0;                  // CUDA device number
  std::string screen = "auto";     // CUDA: one of Device::screens; "auto": the first. Results do not depend on it.
  std::int64_t block_rows = 0;     // rows per block of work; 0: chosen from sizes. Results do not depend on it.
  bool small_gaps = false;         // leave alone rows of small problems too, where it does not pay, for tests
  bool small_joins = false;        // look at pairs once in small problems too, where it does not pay, for tests
  std::int64_t device_memory = 0;  // bytes of device memory the run may take; 0: what is free
};

/// A row of the table of backends: a name, a line for `kith devices`, why it cannot be used, how to open it.
struct BackendEntry {
  const char* name;
  const char* summary;
  /// Empty when the backend can be opened with these options, else the reason with its remedy.
  std::string (*missing)(const BackendOptions&);
  std::unique_ptr<Backend> (*open)(const BackendOptions&);
};

/// All backends, best first. Defined in kernels/backends.cpp.
std::span<const BackendEntry> backends();

}  // namespace kith
