// What kith knn makes of lists besides writing them: classes of the queries, and outliers among the rows.
#pragma once

#include <memory>

#include "app/knn/knn_options.h"
#include "app/knn/neighbor_output.h"
#include "app/run/report.h"
#include "core/neighbors/class_votes.h"
#include "data/labels.h"

namespace kith::app {

/// The labels of --classify, one for each row of the base. Throws Error(data) if their number differs.
data::Labels read_classes(const KnnOptions& options, const data::PointSource& base);

/// Classes of the queries by the votes of their neighbours, to the output or, without one, to standard output if
/// `shown`. Without queries: of each row by its neighbours, and the share of rows whose own label wins, for each number
/// of neighbours up to k, in `report`.
std::unique_ptr<NeighborOutput> classify(const NeighborOutputRequest& request, const data::Labels& labels,
                                         VoteWeight weight, bool shown, Report& report);

/// The distance of each row to its k-th neighbour, and its local outlier factor, to the output or, without one, to
/// standard output if `shown`: then most outlying rows first.
std::unique_ptr<NeighborOutput> find_outliers(const NeighborOutputRequest& request, bool shown);
/// Host bytes of find_outliers().
std::int64_t outlier_bytes(std::int64_t rows, std::int64_t neighbors);

}  // namespace kith::app
