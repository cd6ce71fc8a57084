// Outputs of neighbour graphs: compressed rows in HDF5, edges as CSV or on standard output; connected components.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/knn/row_ids.h"
#include "app/run/results.h"
#include "core/neighbors/graph.h"

namespace kith::app {

/// Writes the rows of a graph, which are appended in order.
class GraphOutput {
 public:
  virtual ~GraphOutput() = default;
  /// part: rows first_row, first_row + 1, ...
  virtual void append(std::int64_t first_row, const NeighborGraph& part) = 0;
  /// Completes the output and gives the file its name. Call it once, after the last row.
  virtual void finish() {}
};

struct GraphOutputRequest {
  std::string path;  // empty: standard output
  data::OutputOptions options;
  ResultHead head;
  Unit unit = Unit::root;
  const data::PointSource* base = nullptr;
  const data::PointSource* queries = nullptr;  // null: the base itself
  std::string edges;                           // "directed", "symmetric", "mutual", "radius"
  const RowIds& ids;
  std::string write_obsp = {};  // the name of a matrix in a copy of the AnnData file of `base`; empty: none
  bool each_once = false;       // write the edge x - y without y - x, for x < y
};

/// begin (rows + 1): index of each row's first edge. Throws Error(output) if the output cannot be written, or lacks
/// disk space.
std::unique_ptr<GraphOutput> open_graph_output(const GraphOutputRequest& request, std::span<const std::int64_t> begin);

/// Writes connected components as kith-components, or prints a line for each row: its number, its component. labels:
/// the lowest row of each row's component. Returns the number of components.
std::int64_t write_components(const GraphOutputRequest& request, std::span<const std::int64_t> labels, bool shown);

}  // namespace kith::app
