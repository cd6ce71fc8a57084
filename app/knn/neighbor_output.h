// Outputs of kith knn's lists: a result file, a file for benchmarks of vector search, standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/run/results.h"
#include "core/points/backend.h"
#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {

/// How results name rows: by the texts of --id-column, or by their numbers.
class RowIds {
 public:
  /// Row numbers.
  RowIds() = default;
  /// The texts of --id-column of both inputs; `queries` null: the base itself. Throws Error(data), for lack of memory
  /// too.
  RowIds(const data::PointSource& base, const data::PointSource* queries);

  /// What a table calls the column of the rows of the base: the name of --id-column, "id", or "row" without ids.
  std::string base_name() const;
  bool empty() const { return base_.empty(); }
  /// A row of the base or of the queries as a field of CSV, or between tabs; its number if there are no ids, or if the
  /// row is -1.
  std::string base_row(std::int64_t row, char delimiter) const { return text_of(base_, row, delimiter); }
  std::string query_row(std::int64_t row, char delimiter) const {
    return text_of(queries_.empty() ? base_ : queries_, row, delimiter);
  }
  /// Datasets `ids` and, with queries, `query_ids`, if there are ids.
  void write(data::ResultFile& file) const;

 private:
  static std::string text_of(const std::vector<std::string>& ids, std::int64_t row, char delimiter);

  std::vector<std::string> base_, queries_;
  std::string base_name_;
};

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
