// Bisecting k-means: all rows are one cluster, and again and again one cluster is split in two by k-means, until there
// are k.
//
// M. Steinbach, G. Karypis, V. Kumar: A comparison of document clustering techniques (2000). As in scikit-learn's
// BisectingKMeans, rows stay in the half that they fell to: no iteration over all clusters follows, and a row may lie
// nearer to the centroid of another one. Costs about as much as 2-means of all rows for every level of the tree, and a
// copy of the rows of the cluster that is split.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kmeans.h"
#include "core/row_store.h"

namespace kith {

/// Which cluster is split next: the one with the largest inertia, or with the most rows; ties: the lowest number.
enum class SplitBy { inertia, size };

/// All clusters that ever were. Node 0 holds all rows; split i, from 0, makes nodes 2 i + 1 and 2 i + 2.
struct SplitTree {
  std::vector<std::int64_t> parent;       // (nodes) -1 of node 0
  std::vector<std::int64_t> first_child;  // (nodes) the other one is the next; -1 of a leaf
  std::vector<std::int64_t> cluster;      // (nodes) the number of a leaf's cluster; -1 of others
  std::vector<std::int64_t> count;        // (nodes) rows
  std::vector<double> inertia;            // (nodes) around their own centroid; of node 0 around the mean
};

struct BisectingResult {
  KMeansResult result;
  SplitTree tree;
};

/// Splits with options.init (not Init::given), runs, max_iterations, tolerance, seed and metric; the run number of run
/// r of split i, which draws its random numbers, is i x runs + r. Rows that cannot
/// be split count as a split there. The half with label 0 keeps the number of its
/// cluster, the other one gets the next. Rows that are all equal are not split: there are fewer than k clusters then,
/// with a warning. store: the rows of `points`. Throws Error(usage) as kmeans() does.
BisectingResult bisecting_kmeans(Points& points, const RowStore& store, const DataPlan& plan,
                                 const KMeansOptions& options, SplitBy by, Observer& observer);

}  // namespace kith
