// Tables in Parquet and Arrow files: columns of numbers, texts and lists, written by the program kith-arrow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/arrow/arrow_helper.h"
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

}  // namespace kith::data
