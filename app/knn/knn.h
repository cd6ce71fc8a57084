// What kith knn was asked and what it opened, for the files that make lists of it, and graphs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "app/knn/neighbor_output.h"
#include "app/run/job.h"
#include "core/graph.h"

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

/// A run of which everything is read and held.
struct KnnRun {
  const KnnOptions& options;
  Invocation& invocation;
  const HeldPoints& held;
  const data::PointSource& base;
  const data::PointSource* queries;  // null: the base itself
  const data::Reading& asked;        // the rows of the queries, and of the base
  PointsView base_values, query_values;
  ResultHead head;
  data::OutputOptions output;
  std::int64_t spare_bytes = 0;  // of host memory
};

/// Graphs of neighbours and radius searches, with their output and what the report says of them (knn_graph.cpp).
void make_graph(const KnnRun& run);
/// Host bytes of a graph of lists while it is made.
std::int64_t graph_bytes(const KnnOptions& options, std::int64_t rows);

}  // namespace kith::app
