// Records: rows whose fields have types of their own, as NumPy's structured arrays and HDF5's compounds store them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/format/column_choice.h"
#include "data/format/element.h"
#include "data/format/point_source.h"

namespace kith::data {

/// One or more values of the same type.
struct RecordField {
  std::string name;
  std::string type;                    // "float32", "text"
  std::int64_t at = 0;                 // its first byte in the record
  std::int64_t count = 1;              // of values
  std::optional<ElementType> element;  // if they are numbers that kith can read
  bool is_code = false;                // the numbers stand for texts or dates: no points, but labels
};

struct Records {
  std::int64_t bytes = 0;           // of one record
  std::vector<RecordField> fields;  // none: the rows are plain numbers
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, RecordField& field) {
  archive(field.name, field.type, field.at, field.count, field.element, field.is_code);
}
template <class Archive>
void each_field(Archive& archive, Records& records) {
  archive(records.bytes, records.fields);
}

/// Why the fields cannot be those of a record; empty if they can.
std::string refusal_of_fields(const Records& records);

/// The columns of all fields: a field of one value is a column of its name, one of several values the columns NAME_1,
/// NAME_2, ...
std::vector<RecordField> columns_of(const Records& records, const std::string& name);

/// The field of a column (counted from 0) of columns_of(records).
int field_of_column(const Records& records, std::int64_t column);

/// What `kith info` shows of them.
void describe_columns(const Records& records, const std::string& name, DatasetInfo& info);

/// The columns of the points, and those that are kept as text, among columns_of(records). Throws Error(usage) for
/// columns that do not exist, and Error(data) with all columns of points that hold no numbers and the option that
/// leaves them out, or with `remedy` besides. `name` is for messages.
ColumnChoice choose_record_columns(const Records& records, const ReadOptions& options, const std::string& name,
                                   const std::string& remedy = {});

/// The columns of the points, if none can be kept as text.
std::vector<RecordField> choose_fields(const Records& records, const ReadOptions& options, const std::string& name);

/// A type of the class that holds all values of these columns.
ElementType common_type(const std::vector<RecordField>& columns);

/// The values of a column in memory.
struct ColumnValues {
  ElementType element;
  const std::byte* first = nullptr;
  std::int64_t stride = 0;  // bytes from a value to the next one
  std::int64_t to = 0;      // its column in the points
};

/// All changes of several conversions, and the first value that one refused, if their indices begin at the same place.
Conversion first_refused(std::vector<Conversion> parts);

/// Converts these columns to `rows` rows of `width` values; see convert() of single types.
template <class T>
Conversion convert_columns(const std::vector<ColumnValues>& columns, std::int64_t rows, T* out, std::int64_t width,
                           Missing missing);

/// Converts these columns of `rows` records; see convert() of single types.
template <class T>
Conversion convert_records(const std::vector<RecordField>& columns, std::int64_t record_bytes, const std::byte* raw,
                           std::int64_t rows, T* out, Missing missing);

}  // namespace kith::data
