// Tables in Parquet and Arrow files: columns of numbers, texts and lists, written by the program kith-arrow; and rows
// in such a table, in CSV, between tabs, or as records of NumPy, by the ending of the output.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/arrow/arrow_helper.h"
#include "data/io/file_kind.h"
#include "data/io/output_file.h"

namespace kith::data {

/// Whether the ending is .parquet or .arrow.
bool is_table_file(const std::string& path);
/// Throws Error(usage) if the file is such a table and the program that writes it is missing.
void check_table_file(const std::string& path);

template <class T>
constexpr ArrowType arrow_type() {
  if constexpr (std::is_same_v<T, bool>) return ArrowType::flag;
  if constexpr (std::is_same_v<T, std::int32_t>) return ArrowType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return ArrowType::int64;
  if constexpr (std::is_same_v<T, float>) return ArrowType::float32;
  if constexpr (std::is_same_v<T, double>) return ArrowType::float64;
}

/// A column that grows row by row, or by many rows.
struct TableColumn {
  ArrowField field;
  ArrowColumnValues values = {};
  std::int64_t rows = 0;

  template <class T>
  void add(T value) {
    add_all(std::span<const T>(&value, 1));
  }
  template <class T>
  void add_all(std::span<const T> numbers) {
    values.bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    mark(std::ssize(numbers) / std::max<std::int64_t>(field.length, 1), 1);
  }
  void add(std::string text) {
    values.texts.push_back(std::move(text));
    mark(1, 1);
  }
  void add_missing();

 private:
  void mark(std::int64_t count, std::uint8_t is_set);
};

/// The file appears when it is complete. Its bytes depend on the values alone, not on the blocks in which they come.
/// Throws Error(output).
class TableFile {
 public:
  /// behind: its columns come first, and the table has its parts; null: none.
  TableFile(const std::string& path, const OutputOptions& options, const std::vector<ArrowField>& fields,
            const InputBytes* behind = nullptr);
  std::vector<TableColumn>& columns() { return columns_; }
  /// Writes groups of rows that the columns have in full.
  void flush() { write_groups(false); }
  void finish(const std::function<void()>& before_naming = [] {});

 private:
  void write_groups(bool all);
  std::int64_t next_group() const;

  ArrowConnection program_;
  OutputBytes out_;
  std::vector<TableColumn> columns_;
  std::vector<std::int64_t> starts_;  // of the parts of the input; empty: none
  std::int64_t written_ = 0;          // rows
};

/// Rows of the same fields, which are added one after another: lines of CSV with a header, lines between tabs that are
/// printed, records of a NumPy array, or a Parquet or Arrow file.
class RowOutput {
 public:
  using Print = std::function<void(const std::string& text)>;
  /// path: ends with .csv, .npy, .parquet or .arrow; empty: `print` gets the lines. Records are those of a matrix with
  /// `columns` of them in a row, or of a vector if that is 0; fields of text are row numbers in them. behind: as of
  /// TableFile.
  RowOutput(const std::string& path, const OutputOptions& options, const std::vector<ArrowField>& fields, Print print,
            std::int64_t columns = 0, const InputBytes* behind = nullptr);
  static bool makes_records(const std::string& path) { return has_ending(path, ".npy"); }

  bool are_records() const { return !record_.empty(); }
  bool is_table() const { return table_.has_value(); }
  void require_space(std::int64_t bytes) const { file_->require_space(bytes); }

  template <class T>
  void add(T number) {
    if (table_) return table_->columns()[field_++].add(number);
    if (are_records()) return void(buffer_.append(reinterpret_cast<const char*>(&number), sizeof(T)));
    begin_field();
    fmt::format_to(std::back_inserter(buffer_), std::is_same_v<T, bool> ? "{:d}" : "{}", number);
  }
  void add(const std::string& text);
  /// What lines show is `shown`.
  void add_missing(const char* shown = "");
  /// A number that may be missing, which records and lines that are printed show as it is.
  template <class T>
  void add_known(T number, bool is_known) {
    is_known || are_records() || delimiter_ == '\t' ? add(number) : add_missing();
  }
  void end_row();
  /// Writes the rows so far, of a table those of whole groups.
  void flush();
  /// Makes the output appear, after `before_naming`.
  void finish(const std::function<void()>& before_naming = [] {});

 private:
  void begin_field();
  std::string head() const;  // of records

  Print print_;
  char delimiter_;      // of lines
  std::string record_;  // NumPy's descr of records; empty: there are none
  std::int64_t columns_;
  std::size_t field_ = 0;  // of the current row
  std::int64_t rows_ = 0;
  std::string buffer_;
  std::unique_ptr<OutputBytes> file_;  // of lines and records; null: they are printed
  std::optional<TableFile> table_;
};

}  // namespace kith::data
