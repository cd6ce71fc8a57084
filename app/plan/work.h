// What a command does with its points, phase by phase: the input of its plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/plan/rates.h"
#include "core/kmeans/kmeans.h"

namespace kith::app {

/// An operation on all rows, several times.
struct Work {
  std::string phase;  // as in the report
  Operation operation = Operation::prepare;
  std::int64_t times = 1;
  std::int64_t size = 0;    // clusters, candidates or queries
  std::int64_t passes = 1;  // over rows that are not in memory, all times together
  bool at_most = false;     // `times` is a limit
};

/// Ranges and grids.
Work preparing();

/// Distances to all means of so many clusters.
Work simplified_silhouettes(std::int64_t clusters);

/// Of a computation of k-means.
std::vector<Work> kmeans_work(const KMeansOptions& options);
/// With k-means|| in place of k-means++.
std::vector<Work> with_parallel_seeding(const std::vector<Work>& work);

}  // namespace kith::app
