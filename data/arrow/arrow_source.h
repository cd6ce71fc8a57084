// The columns and the rows of an Arrow or Parquet file, decoded: in the program kith-arrow.
#pragma once

#include <arrow/array.h>
#include <arrow/type.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/arrow/arrow_file.h"
#include "data/format/records.h"

namespace kith::data {

/// A file and its columns.
struct ArrowTable {
  std::shared_ptr<ArrowFile> file;
  Records records;  // a field for each one of the schema
};
ArrowTable open_arrow_table(InputBytes input);
ArrowDescription description_of(const ArrowTable& table);

/// The texts of a field in a part.
std::vector<std::string> field_texts(ArrowFile& file, int field, std::int64_t part);

/// Rows of numbers.
class ArrowReader {
 public:
  virtual ~ArrowReader() = default;
  virtual std::int64_t columns() const = 0;
  virtual const ArrowOpened& opened() const = 0;
  /// Reads rows first .. first + out.rows - 1, and returns the number of values that were rounded. Throws as
  /// PointSource::read().
  virtual std::int64_t read(std::int64_t first, MatrixView<float> out) = 0;
  virtual std::int64_t read(std::int64_t first, MatrixView<double> out) = 0;
  /// As ArrowCall::find_lists and read_lists. Throw UnpackError where no lists are.
  virtual const std::vector<ArrowStretch>& stretches(std::int64_t part) = 0;
  virtual std::int64_t list_bytes() const = 0;  // of a row
  virtual bool read_lists(std::int64_t first, std::int64_t rows, std::byte* out) = 0;
};
std::unique_ptr<ArrowReader> open_arrow_rows(ArrowTable table, const ArrowRows& rows);

// The columns of an Arrow schema, and the values of arrays as numbers in memory and as texts.

/// The field as those of records: numbers, or lists of `length` numbers; other types have no element.
RecordField record_field(const arrow::Field& field, std::int64_t length);

/// The length of the lists of this type: of the type if all have it, -1 if each list has its own, 0 for no list of
/// numbers.
std::int64_t list_length(const arrow::DataType& type);
/// The length of the first list that is not missing; -1 if there is none. For types with list_length() -1.
std::int64_t first_list_length(const arrow::Array& array);

/// Numbers of an array, row by row, as convert_columns() takes them.
struct ArrowValues {
  const std::byte* first = nullptr;
  std::int64_t stride = 0;           // bytes from a row to the next one
  std::vector<std::byte> owned;      // the values, where the array does not have them in this form
  std::vector<std::uint8_t> is_set;  // (rows, field.count) 0: missing, and the number is 0; empty: none is missing
};

/// `refuse` throws about a row, counted from 0, whose list has another length.
ArrowValues values_of(const arrow::Array& array, const RecordField& field,
                      const std::function<void(std::int64_t row, std::int64_t length)>& refuse);

/// A value as text; empty if it is missing.
std::string text_of(const arrow::Array& array, std::int64_t row);

}  // namespace kith::data
