// Mini-batch k-means: passes over all rows in random batches, each of which moves the centroids a part of the way to
// the means of its own rows.
//
// D. Sculley: Web-scale k-means clustering (WWW 2010), whose learning rate is 1 / rows seen by the centroid so far; a
// batch is one step, with the sum of its rows taken in integers. A pass costs what one iteration does, and a copy of
// the rows. docs/contract.md, Mini-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/metric.h"
#include "core/observer.h"
#include "core/row_store.h"
#include "core/seeding.h"

namespace kith {

struct MiniBatch {
  std::int64_t rows = 0;    // of a batch; 0: no batches
  std::int64_t epochs = 3;  // passes over all rows
  bool finish = true;       // whole iterations follow
  const RowStore* store{};  // all rows; must be there when there are batches
};

/// What the batches do not change in the course of a run.
struct BatchRule {
  MiniBatch batch;
  std::int64_t frozen = 0;  // the first centroids, which do not move
  Metric metric = Metric::euclidean;
  RandomStream random;
};

/// All row numbers from 0 to rows - 1 in the random order of one epoch.
std::vector<std::int64_t> epoch_order(std::int64_t rows, std::int64_t epoch, RandomStream random);

/// Moves centroids (k, d) by all batches of all epochs. plan: of all rows.
void run_mini_batches(Matrix<double>& centroids, const DataPlan& plan, const BatchRule& rule, Observer& observer);

}  // namespace kith
