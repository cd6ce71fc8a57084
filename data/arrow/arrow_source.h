// The rows of an Arrow or Parquet file as points.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/arrow/arrow_file.h"
#include "data/format/records.h"

namespace kith::data {

/// A file and its columns.
struct ArrowTable {
  std::shared_ptr<ArrowFile> file;
  Records records;          // a field for each one of the schema
  std::string remark = {};  // for PointSource::remarks()
};

/// Reads the texts of a field in all rows.
std::vector<std::string> field_texts(ArrowFile& file, int field);

/// `name` is shown; `columns` are those of the points among columns_of(records).
std::unique_ptr<PointSource> make_arrow_source(ArrowTable table, const std::string& name, const ColumnChoice& columns,
                                               const ReadOptions& options);

/// The field of a column (counted from 0) of columns_of(records).
int field_of_column(const Records& records, std::int64_t column);

}  // namespace kith::data
