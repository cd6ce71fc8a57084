// Mini-batch k-means: each random batch of rows moves the centroids part of the way to the means of its rows.
//
// D. Sculley: Web-scale k-means clustering (WWW 2010), with a learning rate of 1 / (rows that the centroid has
// received). Each batch is one update, from integer sums of its rows. A pass over all rows costs about as much as one
// iteration, plus a copy of the rows. docs/contract.md, Mini-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/kmeans/seeding.h"
#include "core/numbers/metric.h"
#include "core/points/matrix.h"
#include "core/points/observer.h"
#include "core/points/row_store.h"

namespace kith {

struct MiniBatch {
  std::int64_t rows = 0;    // rows per batch; 0: no batches
  std::int64_t epochs = 3;  // passes over all rows
  bool finish = true;       // iterations over all rows follow
  const RowStore* store{};  // all rows; required if rows > 0
};

/// The parameters of the batches of a run.
struct BatchRule {
  MiniBatch batch;
  std::int64_t frozen = 0;  // number of frozen centroids, which come first
  Metric metric = Metric::euclidean;
  RandomStream random;
};

/// The place of the batches between two of them.
struct BatchState {
  std::int64_t done = 0;           // batches, of all epochs
  std::vector<std::int64_t> seen;  // (k) rows that each centroid has received
  Matrix<double> centroids;        // (k, d)
};

/// Batches that continue after a state, and that call `after_batch` after each further one; true: it was the last.
struct BatchPlace {
  BatchState state;  // its centroids are not used
  std::function<bool()> after_batch = [] { return false; };
};

/// The row numbers 0 .. rows - 1 in the random order of one epoch.
std::vector<std::int64_t> epoch_order(std::int64_t rows, std::int64_t epoch, RandomStream random);

/// Updates centroids (k, d) with all batches of all epochs, or with those behind `place`. plan: of all rows.
void run_mini_batches(Matrix<double>& centroids, const DataPlan& plan, const BatchRule& rule, Observer& observer,
                      BatchPlace* place = nullptr);

}  // namespace kith
