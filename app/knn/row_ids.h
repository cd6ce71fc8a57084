// Names of rows from --id-column, in place of row numbers in text outputs of kith knn and beside them in HDF5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/results/result.h"
#include "data/source.h"

namespace kith::app {

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

}  // namespace kith::app
