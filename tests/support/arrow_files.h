// Parquet and Arrow files of small tables, in builds with Arrow C++ (KITH_HAS_ARROW).
#pragma once

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/program.h"

namespace kith::testing {

using ArrowArray = std::shared_ptr<arrow::Array>;

inline void require_ok(const arrow::Status& status) {
  INFO(status.ToString());
  REQUIRE(status.ok());
}

/// An array of these values, with nulls where there is none.
template <class Builder, class T>
ArrowArray arrow_array(Builder&& builder, const std::vector<std::optional<T>>& values) {
  for (const std::optional<T>& value : values) require_ok(value ? builder.Append(*value) : builder.AppendNull());
  return builder.Finish().ValueOrDie();
}

/// Lists of floats; a missing list where there is none.
template <class Builder>
ArrowArray arrow_lists(Builder&& lists, arrow::FloatBuilder& items,
                       const std::vector<std::optional<std::vector<float>>>& values) {
  for (const auto& value : values) {
    require_ok(value ? lists.Append() : lists.AppendNull());
    if (value) require_ok(items.AppendValues(*value));
  }
  return lists.Finish().ValueOrDie();
}

inline ArrowArray arrow_lists(const std::vector<std::optional<std::vector<float>>>& values) {
  const auto items = std::make_shared<arrow::FloatBuilder>();
  return arrow_lists(arrow::ListBuilder(arrow::default_memory_pool(), items), *items, values);
}

inline ArrowArray arrow_lists(int length, const std::vector<std::optional<std::vector<float>>>& values) {
  const auto items = std::make_shared<arrow::FloatBuilder>();
  return arrow_lists(arrow::FixedSizeListBuilder(arrow::default_memory_pool(), items, length), *items, values);
}

struct ArrowColumn {
  std::string name;
  ArrowArray values;
};

inline std::shared_ptr<arrow::Table> arrow_table(const std::vector<ArrowColumn>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const ArrowColumn& column : columns) {
    fields.push_back(arrow::field(column.name, column.values->type()));
    arrays.push_back(column.values);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

/// Writes a table with at most `part_rows` rows in each row group.
inline void write_parquet(const std::string& file, const arrow::Table& table, std::int64_t part_rows = 1 << 20) {
  const auto out = arrow::io::FileOutputStream::Open(file).ValueOrDie();
  const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  require_ok(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, part_rows,
                                        parquet::default_writer_properties(), properties));
  require_ok(out->Close());
}

/// The same with record batches.
inline void write_arrow(const std::string& file, const arrow::Table& table, std::int64_t part_rows = 1 << 20) {
  const auto out = arrow::io::FileOutputStream::Open(file).ValueOrDie();
  const auto writer = arrow::ipc::MakeFileWriter(out, table.schema()).ValueOrDie();
  require_ok(writer->WriteTable(table, part_rows));
  require_ok(writer->Close());
  require_ok(out->Close());
}

/// A whole file of either format.
inline std::shared_ptr<arrow::Table> read_table(const std::string& file) {
  const auto in = arrow::io::ReadableFile::Open(file).ValueOrDie();
  if (file.ends_with(".arrow")) return arrow::ipc::RecordBatchFileReader::Open(in).ValueOrDie()->ToTable().ValueOrDie();
  parquet::arrow::FileReaderBuilder builder;
  require_ok(builder.Open(in));
  std::unique_ptr<parquet::arrow::FileReader> reader;
  require_ok(builder.Build(&reader));
  return reader->GetRecordBatchReader().ValueOrDie()->ToTable().ValueOrDie();
}

/// A table as kith writes it as CSV, if no text needs quotation marks.
inline std::string csv_of(const arrow::Table& table) {
  std::string text;
  for (const std::string& name : table.ColumnNames()) text += (text.empty() ? "" : ",") + name;
  for (std::int64_t i = 0; i < table.num_rows(); ++i) {
    text += '\n';
    for (int j = 0; j < table.num_columns(); ++j) {
      const auto value = table.column(j)->GetScalar(i).ValueOrDie();
      if (j > 0) text += ',';
      if (!value->is_valid) continue;
      if (value->type->id() == arrow::Type::FLOAT) {
        text += fmt::format("{}", static_cast<const arrow::FloatScalar&>(*value).value);
      } else if (value->type->id() == arrow::Type::DOUBLE) {
        text += fmt::format("{}", static_cast<const arrow::DoubleScalar&>(*value).value);
      } else if (value->type->id() == arrow::Type::BOOL) {
        text += static_cast<const arrow::BooleanScalar&>(*value).value ? "1" : "0";
      } else {
        text += value->ToString();
      }
    }
  }
  return text + '\n';
}

using Floats = std::vector<std::optional<float>>;
using Doubles = std::vector<std::optional<double>>;
using Texts = std::vector<std::optional<std::string>>;

inline ArrowArray floats(const Floats& values) { return arrow_array(arrow::FloatBuilder(), values); }
inline ArrowArray doubles(const Doubles& values) { return arrow_array(arrow::DoubleBuilder(), values); }
inline ArrowArray texts(const Texts& values) { return arrow_array(arrow::StringBuilder(), values); }

/// Writes the table in both formats, with parts of some sizes, and visits each file.
inline void for_each_file(const Scratch& folder, const arrow::Table& table,
                          const std::function<void(const std::string&)>& visit) {
  for (const std::int64_t part_rows : {1, 3, 1 << 20}) {
    INFO("parts of " << part_rows << " rows");
    write_parquet(folder / "t.parquet", table, part_rows);
    write_arrow(folder / "t.arrow", table, part_rows);
    for (const char* file : {"t.parquet", "t.arrow"}) {
      INFO(file);
      visit(file);
    }
  }
}

}  // namespace kith::testing
