// What a command does with its points, phase by phase, and what that costs: the input of its plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/points/decision.h"

namespace kith::app {

/// What is done with all rows. Its cost depends on the number of columns and on a size.
enum class Operation {
  prepare,  // ranges, grids and the spread of the columns
  seed,     // a step of k-means++; size: candidates
  iterate,  // an iteration; size: clusters
  assign,   // labels and distances; size: clusters
  finish,   // the same, and the rows nearest to the centroids
  search,   // neighbours; size: queries
  join,     // neighbours of all rows in their own set; size: rows
  measure,  // distances to all means; size: clusters
};

inline constexpr std::int64_t kTreeColumns = 16;  // with so few, trees may spare nearly all of a search

/// An operation on all rows, several times.
struct Work {
  std::string phase;  // as in the report
  Operation operation = Operation::prepare;
  std::int64_t times = 1;
  std::int64_t size = 0;    // clusters, candidates or queries
  std::int64_t passes = 1;  // over rows that are not in memory, all times together
  bool at_most = false;     // `times` is a limit; of a search: trees may spare nearly all of it
};

/// The cost of all times, as if every distance were computed: bounds and cells spare a part of them that depends on the
/// values. None for a search that trees may spare. machine: what it multiplies in is counted.
Cost cost_of(const Work& work, std::int64_t rows, std::int64_t columns, std::int64_t row_bytes, const Machine& machine);

/// Ranges and grids.
Work preparing();

/// Distances to all means of so many clusters.
Work simplified_silhouettes(std::int64_t clusters);

/// Of a computation of k-means.
std::vector<Work> kmeans_work(const KMeansOptions& options);
/// With k-means|| in place of k-means++.
std::vector<Work> with_parallel_seeding(const std::vector<Work>& work);

}  // namespace kith::app
