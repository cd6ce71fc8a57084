// The state of a run of kith knn, shared by the files that compute lists and graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "app/cli/common_options.h"
#include "app/knn/neighbor_output.h"
#include "app/run/checkpointing.h"
#include "app/run/held_points.h"
#include "app/run/points_run.h"
#include "app/run/radius.h"
#include "app/run/report.h"
#include "app/run/results.h"
#include "core/neighbors/graph.h"
#include "core/neighbors/list_scores.h"
#include "core/neighbors/neighbors.h"
#include "data/labels.h"

namespace kith::app {

struct KnnOptions {
  std::string base;
  std::string queries;         // empty: the base against itself
  std::int64_t neighbors = 0;  // 0: not given
  RadiusChoice radius;
  bool graph = false, symmetric = false, mutual = false, components = false, pairs = false;
  std::string weights = "none";  // of edges
  std::string write_obsp;        // the name of a matrix; empty: none
  bool include_self = false;
  bool squared = false;
  std::string truth;
  std::string classify;  // labels of the base; empty: none
  std::string vote = "equal";
  bool outliers = false;
  bool follow = false;
  std::string format = "auto";
  CheckpointOptions checkpoint;
  CommonOptions common;

  bool has_radius() const { return radius.given(); }
  bool has_weights() const { return weights != "none"; }
  bool makes_graph() const { return has_radius() || graph || symmetric || mutual || pairs; }
  GraphEdges edges() const {
    if (symmetric || has_weights() || (pairs && !has_radius())) return GraphEdges::symmetric;
    return mutual ? GraphEdges::mutual : GraphEdges::directed;
  }
  ListFormat list_format() const { return app::list_format(format, common.output); }
  /// Whether lists are used for something else than to be written.
  bool uses_lists() const { return outliers || !classify.empty(); }
  Metric metric() const { return metric_of(common); }
  /// Weights are of the distances that scanpy has, 1 - cos of directions.
  Unit unit() const {
    return has_weights() && metric() == Metric::cosine ? Unit::cosine_distance : unit_of(metric(), squared);
  }
};

/// Adds all options to the set.
void declare(OptionSet& set, KnnOptions& options);

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
  std::string edges;                           // "directed", "symmetric", "mutual", "radius", "pairs"
  const RowIds& ids;
  std::string write_obsp = {};           // the name of a matrix in a copy of the AnnData file of `base`; empty: none
  std::string weights = {};              // of the edges: "umap"; empty: they have none
  const NeighborGraph* lists = nullptr;  // of which a graph with weights was made
  bool each_once = false;                // write the edge x - y without y - x, for x < y
  bool are_pairs = false;                // the edges have no direction, and a row those to later rows only
};

/// begin (rows + 1): index of each row's first edge. Throws Error(output) if the output cannot be written, or lacks
/// disk space.
std::unique_ptr<GraphOutput> open_graph_output(const GraphOutputRequest& request, std::span<const std::int64_t> begin);

/// Writes connected components as kith-components, or prints a line for each row: its number, its component. labels:
/// the lowest row of each row's component. Returns the number of components.
std::int64_t write_components(const GraphOutputRequest& request, std::span<const std::int64_t> labels, bool shown);

/// The labels in this file, one for each row of the points. Throws Error(data) if their number differs.
data::Labels read_classes(const std::string& location, const data::PointSource& points, const KnnOptions& options);

/// Classes of the queries by the votes of their neighbours, to the output or, without one, to standard output if
/// `shown`. Without queries: of each row by its neighbours, and the share of rows whose own label wins, for each number
/// of neighbours up to k, in `report`. known: the classes of the queries, with which those that were found are compared
/// in `report` and, if `shown`, in tables; null: they are not known.
std::unique_ptr<NeighborOutput> classify(const NeighborOutputRequest& request, const data::Labels& labels,
                                         const data::Labels* known, VoteWeight weight, bool shown, Report& report);

/// The distance of each row to its k-th neighbour, and its local outlier factor, to the output or, without one, to
/// standard output if `shown`: then most outlying rows first.
std::unique_ptr<NeighborOutput> find_outliers(const NeighborOutputRequest& request, bool shown);
/// Host bytes of find_outliers().
std::int64_t outlier_bytes(std::int64_t rows, std::int64_t neighbors);

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

/// Throws Error(usage) if a base of so many rows has fewer neighbours than asked for.
void check_neighbors(const KnnOptions& options, const data::PointSource& base, std::int64_t rows);

/// The run of --follow. Returns the exit code.
int follow_queries(KnnOptions& options, PointsRun& run);

}  // namespace kith::app
