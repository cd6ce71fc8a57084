// Points that lie in a file as plain numbers, row after row or column after column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/element.h"
#include "data/io/input_bytes.h"
#include "data/source.h"

namespace kith::data {

/// Where the numbers of a table lie.
struct RawTable {
  enum Order {
    rows_together,     // row after row
    columns_together,  // column after column, as Fortran has them
    rows_with_length,  // row after row, before each the number of columns as a little-endian int32
  };
  std::string name;  // for messages and results
  ElementType element;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t at = 0;  // of the first byte of it all
  Order order = rows_together;

  std::int64_t row_bytes() const;  // of a row's values and its length
  std::int64_t bytes() const;      // throws Error(data) when they cannot be counted
};

/// `table` must lie within the input.
std::unique_ptr<PointSource> open_raw(InputBytes input, const RawTable& table, const ReadOptions& options);

}  // namespace kith::data
