// The options and the state of a run of kith knn, shared by the files that compute lists and graphs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "app/knn/graph_output.h"
#include "app/knn/neighbor_output.h"
#include "app/run/held_points.h"
#include "core/graph.h"
#include "core/neighbors.h"

namespace kith::app {

struct KnnOptions {
  std::string base;
  std::string queries;                                       // empty: the base against itself
  std::int64_t neighbors = 0;                                // 0: not given
  double radius = std::numeric_limits<double>::quiet_NaN();  // NaN: not given
  bool graph = false, symmetric = false, mutual = false, components = false;
  bool include_self = false;
  bool squared = false;
  std::string truth;
  std::string format = "auto";
  CommonOptions common;

  bool has_radius() const { return !std::isnan(radius); }
  bool makes_graph() const { return has_radius() || graph || symmetric || mutual; }
  GraphEdges edges() const {
    if (symmetric) return GraphEdges::symmetric;
    return mutual ? GraphEdges::mutual : GraphEdges::directed;
  }
  ListFormat list_format() const { return app::list_format(format, common.output); }
  Metric metric() const { return metric_of(common); }
  Unit unit() const { return unit_of(metric(), squared); }
};

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
