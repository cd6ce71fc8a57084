// The state of a run of kith knn, shared by the files that compute lists and graphs.
#pragma once

#include <cstdint>

#include "app/knn/graph_output.h"
#include "app/knn/knn_options.h"
#include "app/knn/neighbor_output.h"
#include "app/run/held_points.h"
#include "core/neighbors/graph.h"
#include "core/neighbors/neighbors.h"

namespace kith::app {

/// A run whose inputs are read and held.
struct KnnRun {
  const KnnOptions& options;
  Job& job;
  const HeldPoints& held;
  const data::PointSource& base;
  const data::PointSource* queries;  // null: the base itself
  const data::Reading& queried;      // the rows of the queries, which may be those of the base
  PointsView base_values, query_values;
  const RowIds& ids;
  ResultHead head;
  const std::string& target;  // the output, or empty
  data::OutputOptions output;
  std::int64_t spare_bytes = 0;  // of host memory
};

/// Options of nearest_neighbors().
NeighborOptions search_options(const KnnRun& run);

/// Computes and writes a graph of neighbours or of a radius search, and reports it (knn_graph.cpp). Returns an output
/// to be finished, or null.
std::unique_ptr<GraphOutput> make_graph(const KnnRun& run);
/// Host bytes of a graph during its computation.
std::int64_t graph_bytes(const KnnOptions& options, std::int64_t rows);

}  // namespace kith::app
