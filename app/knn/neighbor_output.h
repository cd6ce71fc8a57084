// Where the lists of kith knn go: a result file, a file that benchmarks of vector search read, standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/run/results.h"
#include "core/backend.h"

namespace kith::app {

enum class ListFormat { kith, ann_benchmarks, bigann, ivecs };
/// Of --format, or, when that is "auto", of the ending of the output's name.
ListFormat list_format(const std::string& chosen, const std::string& path);

/// Throws Error(usage) where the format cannot hold such lists. queries: null: the base itself.
void check_list_format(ListFormat format, Metric metric, const data::PointSource& base,
                       const data::PointSource* queries);

/// Takes lists, in order of their queries.
class NeighborOutput {
 public:
  virtual ~NeighborOutput() = default;
  virtual void take(std::int64_t first_query, const NeighborLists& lists) = 0;
  /// The output appears.
  virtual void finish() {}
};

/// All that an output may want to know.
struct NeighborOutputRequest {
  std::string path;
  data::OutputOptions options;
  ResultHead head;
  Unit unit = Unit::root;
  std::int64_t neighbors = 0;
  const data::PointSource* base = nullptr;
  const data::PointSource* queries = nullptr;  // null: the base itself
  PointsView base_values, query_values;
};

/// Throws Error(output) where it cannot be written.
std::unique_ptr<NeighborOutput> open_neighbor_output(ListFormat format, const NeighborOutputRequest& request);
/// A line for each neighbour on standard output: query, neighbour, distance.
std::unique_ptr<NeighborOutput> printed_neighbors(Unit unit, ValueClass value_class);

}  // namespace kith::app
