// Outputs of kith knn's lists: a result file, a file for benchmarks of vector search, standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/knn/row_ids.h"
#include "app/run/results.h"
#include "core/points/backend.h"

namespace kith::app {

enum class ListFormat { kith, ann_benchmarks, bigann, ivecs };
/// The format of --format; for "auto", that of the ending of the output name.
ListFormat list_format(const std::string& chosen, const std::string& path);

/// Throws Error(usage) if the format cannot hold such lists. queries: null: the base itself.
void check_list_format(ListFormat format, Metric metric, const data::PointSource& base,
                       const data::PointSource* queries);

/// Writes lists, which are appended in the order of their queries.
class NeighborOutput {
 public:
  virtual ~NeighborOutput() = default;
  virtual void append(std::int64_t first_query, const NeighborLists& lists) = 0;
  /// Makes the output appear.
  virtual void finish() {}
};

/// What outputs need.
struct NeighborOutputRequest {
  std::string path;  // empty: standard output
  data::OutputOptions options;
  ResultHead head;
  Unit unit = Unit::root;
  std::int64_t neighbors = 0;
  const data::PointSource* base = nullptr;
  const data::PointSource* queries = nullptr;  // null: the base itself
  PointsView base_values, query_values;
  const RowIds& ids;
};

/// ListFormat::kith: HDF5, .csv or .npy by the name, or, if that is empty, a line for each neighbour on standard
/// output: query, neighbour, distance. Throws Error(output) if it cannot be written.
std::unique_ptr<NeighborOutput> open_neighbor_output(ListFormat format, const NeighborOutputRequest& request);

}  // namespace kith::app
