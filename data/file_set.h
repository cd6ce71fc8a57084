// Several files whose rows are one set of points, one file after another.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/file_names.h"
#include "data/format/point_source.h"

namespace kith::data {

/// Rows of many files as one source. All files are opened once at the beginning, so that one which does not fit is
/// refused before any work; later at most kMostOpen are open at a time, and each must still be the file that it was.
class FileSet final : public PointSource {
 public:
  /// A Parquet file takes eight descriptors in kith and in the program that reads it, so that a set takes less than 64.
  static constexpr std::size_t kMostOpen = 5;
  using Open = std::function<std::unique_ptr<PointSource>(const std::string& name, const ReadOptions& options)>;
  struct File {
    std::string name;      // "shards/a.npy", FILE:DATASET
    std::string relative;  // the same without the folder that all files share
    std::int64_t first_row = 0, rows = 0;
    FileStamp stamp = {};
    std::vector<std::string> remarks = {};  // of its source, when it was closed
    std::int64_t changed_values = 0;        // the same
    std::int64_t unknown_rows = 0;          // the same
  };

  /// `name` as for named_set(). Throws Error(data) for the first file whose columns differ from those of the first.
  FileSet(std::string name, const ReadOptions& options, Open open);

  const std::vector<File>& files() const { return files_; }
  const FileNames& names() const { return *names_; }

  std::string name() const override { return shown_set(name_); }
  std::string location() const override { return name_; }
  std::string element_type() const override { return type_; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  ValueClass value_class() const override { return class_; }
  Number held_as() const override { return held_as_; }
  std::int64_t file_bytes() const override { return file_bytes_; }
  std::int64_t changed_values() const override;
  std::int64_t unknown_rows() const override;
  std::int64_t held_bytes() const override { return held_bytes_; }
  std::string only_in_order() const override { return only_in_order_; }
  bool is_compressed() const override { return is_compressed_; }
  void bypass_cache_from(std::int64_t row) override;
  /// read() compares each file with what it was.
  std::string watched_file() const override { return ""; }
  bool is_shared() const override { return is_shared_; }
  std::vector<std::string> column_names() const override { return column_names_; }
  std::optional<IndexedColumns> indexed_columns() const override { return indexed_; }
  SkippedLines skipped_lines() const override { return skipped_lines_; }
  std::vector<std::string> remarks() const override;
  std::vector<std::string> kept(Kept which) const override;
  std::string id_name() const override { return id_name_; }
  RowTexts texts_of(const std::string& column) const override;
  std::shared_ptr<const TableModel> table() const override { return table_; }
  const FileSet* set() const override { return this; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }

 private:
  using Shared = std::shared_ptr<PointSource>;
  struct Description;
  /// Opens every file; what is learnt about all of them changes the options, with which some are opened again.
  void describe_all();
  std::unique_ptr<PointSource> open_file(std::size_t i, const ReadOptions& options) const;
  void require_unchanged(std::size_t i) const;
  /// The open source of a file; opens it, and closes the one that no thread reads and that was used the longest ago.
  Shared source(std::size_t i) const;
  void close(std::size_t i) const;
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out);

  std::string name_;
  std::shared_ptr<const FileNames> names_;
  ReadOptions options_;
  Open open_;
  mutable std::vector<File> files_;
  std::string type_, only_in_order_, id_name_;
  std::int64_t rows_ = 0, columns_ = 0, file_bytes_ = 0, held_bytes_ = 0;
  ValueClass class_ = ValueClass::f32;
  Number held_as_ = Number::float32;
  bool is_compressed_ = false, is_shared_ = true, is_widened_ = false;
  std::vector<std::string> column_names_;
  std::optional<IndexedColumns> indexed_;
  SkippedLines skipped_lines_;
  std::shared_ptr<const TableModel> table_;
  std::int64_t bypassed_from_ = -1;
  mutable std::mutex mutex_;
  mutable std::vector<Shared> open_files_;    // of each file; null: closed
  mutable std::list<std::size_t> last_used_;  // the open files, the last one first
};

}  // namespace kith::data
