// Neighbours among held points: requests, lists, and the operations that fill them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "core/numbers/measure.h"
#include "core/points/matrix.h"
#include "core/points/point_set.h"

namespace kith {

class PartThreads;

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
  Matrix<double> distance;     // (q, k) D
  Matrix<std::int64_t> index;  // (q, k)
  // Counts of the work. Backends ADD to them.
  std::int64_t products = 0;          // scores of queries and rows computed by screens
  std::int64_t candidates = 0;        // distances computed by the definition
  std::int64_t fallback_queries = 0;  // queries that the first screen could not complete
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

/// Neighbour searches and distances among held points.
class PointNeighbors : public virtual PointSet {
 public:
  /// Merges the k nearest of these rows into the lists.
  virtual void search(const Queries&, NeighborLists&) const { unsupported("neighbour search"); }
  /// Lists (n, k) of the nearest of these rows for each of them, faster than by search(), which gives the same lists:
  /// by a symmetric join, where each pair of rows is scored once, or without copies of the queries. Nothing if that
  /// does not pay or memory is short. The points must hold all rows of the data set.
  virtual std::optional<NeighborLists> self_join(const SelfJoin&) const { return std::nullopt; }
  /// self_join() of rows that several devices hold: each takes all rows, and finds the lists of its own. parts: all
  /// rows in their order, of which these are the first, each held by a device of the same kind. Lists without an entry
  /// are missing (complete_join() in core/neighbors/neighbors.h).
  virtual std::optional<NeighborLists> join_parts(std::span<const PointNeighbors* const> /*parts*/, PartThreads&,
                                                  const SelfJoin&) const {
    return std::nullopt;
  }
  /// Adds the rows within the limit of each query.
  virtual void search_radius(const Queries&, RadiusLists&) const { unsupported("radius search"); }
  /// D of every query and every row, none excluded. out: (q, n)
  virtual void all_distances(const Queries&, MatrixView<double> /*out*/) const { unsupported("distances"); }
  /// ADDS to sums(i, c) the sum over the rows of label c of to_fixed(square root of D(query i, row)). sums: (q, k).
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
};

}  // namespace kith
