// Points that a file stores as plain numbers, in row or column order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/format/element.h"
#include "data/format/point_source.h"
#include "data/format/records.h"
#include "data/io/input_bytes.h"

namespace kith::data {

/// The position and layout of a table of numbers in a file.
struct RawTable {
  enum Order {
    rows_together,     // row after row
    columns_together,  // column after column, as in Fortran
    rows_with_length,  // row after row, each after its number of columns as a little-endian int32
  };
  std::string name;  // for messages and results
  ElementType element = {};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t at = 0;  // position of the first byte
  Order order = rows_together;
  std::string type = {};  // shown instead of the name of the element
  std::int64_t record_bytes = 0;
  std::vector<RecordField> fields = {};  // of records: one for each column, and `element` is their common type
  /// Called once, before the first values are read; throws Error(data) if the bytes are damaged.
  std::function<void(const InputBytes&)> verify = {};

  std::int64_t row_bytes() const;  // of a row, including its length if it is stored
  std::int64_t bytes() const;      // throws Error(data) on overflow
};

/// `table` must lie within the input.
std::unique_ptr<PointSource> open_raw(InputBytes input, const RawTable& table, const ReadOptions& options);

}  // namespace kith::data
