// k-means on held points: requests, results, and the operations of Lloyd's iteration.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kmeans/stop_rule.h"
#include "core/neighbors/nearest_rows.h"
#include "core/points/matrix.h"
#include "core/points/observer.h"
#include "core/points/point_set.h"
#include "core/points/weights.h"

namespace kith {

class Communicator;
class PartThreads;
class Points;

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

/// Operations of Lloyd's iteration on held points.
class PointClustering : public virtual PointSet {
 public:
  /// Sets the label of every row to the argmin of D over the centroids (ties: lowest index). ADDS to the result.
  virtual void assign(const AssignRequest&, Assignment&) { unsupported("assignments"); }
  /// Sets the kept distance of every row to D to the centroid of its label. ADDS the weighted sums per cluster, in two
  /// limbs, to inertia (k).
  virtual void measure(const MeasureRequest&, std::span<Limbs> /*inertia*/) { unsupported("inertia"); }
  /// Finds the row nearest to each centroid over all rows, by the labels and distances of the last assign() and
  /// measure(), which must have been to these centroids. Merges into the result. False if these leave too many
  /// candidates: the result may then lack rows, which search() finds (find_nearest_rows() of
  /// core/kmeans/label_result.h).
  virtual bool nearest_rows(const NearestRowsRequest&, NearestRows&) const { return false; }
  /// ADDS to the sums what changed in the labels since the last call: a row that changed its cluster is subtracted from
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
  /// iterate() over rows that several devices and processes hold. parts: the rows of this process, of which these are
  /// the first, each held by a device of the same kind. All processes call it at the same time, with the same request
  /// and state; if one of them does not iterate in parts, none may call it.
  virtual IterateResult iterate_parts(std::span<Points* const> /*parts*/, PartThreads&, Communicator&,
                                      const IterateRequest&, LloydState&) {
    return {};
  }
  /// Whether iterate_parts() does anything. count: of the parts.
  virtual bool iterates_in_parts(std::int64_t /*count*/) const { return false; }
  /// Changes the label of one row (relocation).
  virtual void relabel(std::int64_t /*row*/, std::int32_t /*label*/) { unsupported("relocation"); }
  /// Sets all labels. labels: (n)
  virtual void set_labels(std::span<const std::int32_t> /*labels*/) { unsupported("given labels"); }
  /// Copies the labels. out: (n)
  virtual void labels(std::span<std::int32_t> /*out*/) const { unsupported("labels"); }
  /// Copies the kept squared distances. out: (n)
  virtual void distances(std::span<double> /*out*/) const { unsupported("distances"); }
};

}  // namespace kith
