// Outputs of kith knn: names of rows in rows of answers, and lists in a result file or one of other programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/run/results.h"
#include "data/io/output_file.h"
#include "data/results/other_formats.h"
#include "data/results/result.h"
#include "data/results/table_file.h"

namespace kith::app {

using data::RowOutput;
/// On standard output, for RowOutput.
void print_rows(const std::string& text);

/// How results name rows: by the texts of --id-column or --ids, or by their numbers; and the columns of --join beside
/// them.
class RowIds {
 public:
  /// Row numbers.
  RowIds() = default;
  /// The texts of --id-column or --ids of both inputs if `named`, and columns of the base, which the queries may have,
  /// too; `queries` null: the base itself. Throws Error(data), for lack of memory too.
  RowIds(const data::PointSource& base, const data::PointSource* queries, bool named,
         const std::vector<std::string>& joined);

  /// What outputs call the column of the rows of the base: the name of --id-column, "id", or "row" without ids.
  std::string base_name() const { return base_.empty() ? "row" : base_name_.empty() ? "id" : base_name_; }
  /// A row of the base or of the queries as a field of CSV, or between tabs; its number if there are no ids, or if the
  /// row is -1.
  std::string base_row(std::int64_t row, char delimiter) const { return text_of(base_, row, delimiter); }
  std::string query_row(std::int64_t row, char delimiter) const {
    return text_of(are_same_ ? base_ : queries_, row, delimiter);
  }
  /// A field that names rows: texts, or numbers if there are no ids.
  data::ArrowField row_field(const std::string& name) const;
  /// The joined columns, with "query_" and "neighbor_" in front of their names, or with "_a" and "_b" behind for pairs.
  std::vector<data::ArrowField> joined_fields(bool are_pairs) const;
  /// The same of single rows of the base.
  std::vector<data::ArrowField> joined_fields() const;
  /// Adds the values of these fields. A row that is -1 is missing where rows have texts.
  void add_query(RowOutput& out, std::int64_t row) const { add_row(out, are_same_ ? base_ : queries_, row); }
  void add_base(RowOutput& out, std::int64_t row) const { add_row(out, base_, row); }
  void add_joined(RowOutput& out, std::int64_t query, std::int64_t row) const;
  void add_joined(RowOutput& out, std::int64_t row) const;
  /// Datasets `ids` and, with queries, `query_ids`, if there are ids.
  void write(data::ResultFile& file) const;

 private:
  /// A column of --join: the texts of the base and of the queries, which may not have it.
  struct Joined {
    std::string name;
    std::vector<std::string> base, queries;
    bool has_queries = false;
  };
  void add_row(RowOutput& out, const std::vector<std::string>& ids, std::int64_t row) const;
  static std::string text_of(const std::vector<std::string>& ids, std::int64_t row, char delimiter);

  std::vector<std::string> base_, queries_;
  std::string base_name_;
  std::vector<Joined> joined_;
  bool are_same_ = true;  // the base is the queries
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

/// ListFormat::kith: HDF5, .csv, .npy, .parquet or .arrow by the name, or, if that is empty, a line for each neighbour
/// on standard output: query, neighbour, distance. Throws Error(output) if it cannot be written.
std::unique_ptr<NeighborOutput> open_neighbor_output(ListFormat format, const NeighborOutputRequest& request);

}  // namespace kith::app
