// Where graphs of neighbours go: compressed rows in HDF5, edges as CSV or on standard output; groups of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/run/results.h"
#include "core/graph.h"

namespace kith::app {

/// Takes the rows of a graph, in order.
class GraphOutput {
 public:
  virtual ~GraphOutput() = default;
  /// part: rows first_row, first_row + 1, ...
  virtual void take(std::int64_t first_row, const NeighborGraph& part) = 0;
  /// The output appears.
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
  bool each_once = false;                      // as edges, of x - y and y - x the one with the lower source alone
};

/// begin (rows + 1): where each row's edges begin among all. Throws Error(output) where it cannot be written, for want
/// of space too.
std::unique_ptr<GraphOutput> open_graph_output(const GraphOutputRequest& request, std::span<const std::int64_t> begin);

/// Writes groups of connected rows as kith-components, or prints a line for each row: its number, its group. labels:
/// the lowest row of each row's group. Returns the number of groups.
std::int64_t write_components(const GraphOutputRequest& request, std::span<const std::int64_t> labels, bool shown);

}  // namespace kith::app
