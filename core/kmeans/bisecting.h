// Bisecting k-means: starts with one cluster of all rows and splits one cluster in two by k-means until there are k.
//
// M. Steinbach, G. Karypis, V. Kumar: A comparison of document clustering techniques (2000). As in scikit-learn's
// BisectingKMeans, no iteration over all clusters follows, so a row may lie nearer to the centroid of another cluster.
// Each level of the tree costs about as much as 2-means of all rows. Each split copies the rows of its cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans/kmeans.h"
#include "core/points/row_store.h"

namespace kith {

/// The cluster to split next: the one with the largest inertia or the most rows; ties go to the lowest number.
enum class SplitBy { inertia, size };

/// All clusters of all stages. Node 0 holds all rows; split i, from 0, creates nodes 2 i + 1 and 2 i + 2.
struct SplitTree {
  std::vector<std::int64_t> parent;       // (nodes) -1 for node 0
  std::vector<std::int64_t> first_child;  // (nodes) the second child is the next node; -1 for a leaf
  std::vector<std::int64_t> cluster;      // (nodes) the cluster number of a leaf; -1 for inner nodes
  std::vector<std::int64_t> count;        // (nodes) rows
  std::vector<double> inertia;            // (nodes) around the centroid of the node; for node 0 around the mean
};

struct BisectingResult {
  KMeansResult result;
  SplitTree tree;
};

/// Splits clusters with options.init (not Init::given), runs, max_iterations, tolerance, seed and metric. Run r of
/// split i takes its random numbers from stream i x runs + r; an attempt that cannot split its rows counts as a split
/// here. The part with label 0 keeps the number of its cluster, the other part gets the next number. Clusters of equal
/// rows cannot be split; the result may then have fewer than k clusters, with a warning. store: the rows of `points`.
/// Throws Error(usage) as kmeans() does.
BisectingResult bisecting_kmeans(Points& points, const RowStore& store, const DataPlan& plan,
                                 const KMeansOptions& options, SplitBy by, Observer& observer);

}  // namespace kith
