// The options of kith knn.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "app/cli/common_options.h"
#include "app/knn/neighbor_output.h"
#include "app/run/checkpointing.h"
#include "core/neighbors/graph.h"

namespace kith::app {

struct KnnOptions {
  std::string base;
  std::string queries;                                       // empty: the base against itself
  std::int64_t neighbors = 0;                                // 0: not given
  double radius = std::numeric_limits<double>::quiet_NaN();  // NaN: not given
  bool graph = false, symmetric = false, mutual = false, components = false;
  std::string write_obsp;  // the name of a matrix; empty: none
  bool include_self = false;
  bool squared = false;
  std::string truth;
  std::string classify;  // labels of the base; empty: none
  std::string vote = "equal";
  bool outliers = false;
  std::string format = "auto";
  CheckpointOptions checkpoint;
  CommonOptions common;

  bool has_radius() const { return !std::isnan(radius); }
  bool makes_graph() const { return has_radius() || graph || symmetric || mutual; }
  GraphEdges edges() const {
    if (symmetric) return GraphEdges::symmetric;
    return mutual ? GraphEdges::mutual : GraphEdges::directed;
  }
  ListFormat list_format() const { return app::list_format(format, common.output); }
  /// Whether lists are used for something else than to be written.
  bool uses_lists() const { return outliers || !classify.empty(); }
  Metric metric() const { return metric_of(common); }
  Unit unit() const { return unit_of(metric(), squared); }
};

/// Adds all options to the set.
void declare(OptionSet& set, KnnOptions& options);

}  // namespace kith::app
