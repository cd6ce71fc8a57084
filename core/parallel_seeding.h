// Starting centroids for large k: k-means||, which draws many rows at a time and chooses among these.
//
// B. Bahmani, B. Moseley, A. Vattani, R. Kumar, S. Vassilvitskii: Scalable k-means++ (2012), with exactly 2 k draws in
// each of two rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/backend.h"
#include "core/observer.h"
#include "core/seeding.h"

namespace kith {

/// Row numbers of k starting centroids. Every round draws 2 k rows by their distance to the candidates so far, and
/// costs one assignment to all candidates; there are more than two rounds only while candidates are fewer than k.
/// Greedy k-means++ chooses among the candidates, each of which weighs what the rows nearest to it weigh. When fewer
/// than k rows are distinct, the remaining centroids are the lowest rows not yet chosen, with a warning. `given` (g,
/// d): centroids that are there already, beside which the k are drawn.
std::vector<std::int64_t> kmeans_parallel(Points& points, const DataPlan& plan, std::int64_t clusters,
                                          RandomStream random, Observer& observer, MatrixView<const double> given = {});

}  // namespace kith
