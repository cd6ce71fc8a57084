// Initial centroids for large k: k-means||, which samples many rows per round and then chooses among them.
//
// B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable k-means++ (2012), with exactly 2 k draws in
// each of two rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans/seeding.h"
#include "core/points/backend.h"
#include "core/points/observer.h"

namespace kith {

/// Row numbers of k = `clusters` initial centroids. Each round draws 2 k rows with probability proportional to their D
/// to the nearest candidate, and costs one assignment to all candidates. More than two rounds follow only while there
/// are fewer than k candidates. Weighted greedy k-means++ chooses among the candidates; the weight of a candidate is
/// that of the rows nearest to it. If fewer than k rows are distinct, the lowest rows not yet chosen fill up, with a
/// warning. given: (g, d) existing centroids, which count as chosen. place: where it continues, after a round or among
/// the candidates.
std::vector<std::int64_t> kmeans_parallel(Points& points, const DataPlan& plan, std::int64_t clusters,
                                          RandomStream random, Observer& observer, MatrixView<const double> given = {},
                                          SeedingPlace* place = nullptr);

}  // namespace kith
