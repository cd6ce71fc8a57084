// The rows of a source in a scratch file: decoded once, and then read as often as needed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/scratch_file.h"
#include "data/missing_rows.h"

namespace kith::data {

struct SpoolOptions {
  std::string folder;
  std::int64_t block_bytes = std::int64_t{16} << 20;  // of values; at least one row. Two blocks are in memory
  std::int64_t least_rows = 1;                        // of a block
  bool drop_missing = false;                          // as in ReadingOptions
};

/// The rows in the type held_as() of the source, without the dropped ones.
class SpooledRows final : public PointSource {
 public:
  /// Reads all rows of the source, which must outlive the object. progress(rows) tells how many have been read. Throws
  /// what Reading throws, and Error(output) if the folder has too little space.
  SpooledRows(
      PointSource& source, const SpoolOptions& options,
      const std::function<void(std::int64_t rows)>& progress = [](std::int64_t) {});

  /// Calls visit(block, first) for blocks of rows in order, for one pass; `first` is the number of their first row. All
  /// blocks but the last have a multiple of 256 rows, or fewer. visit() may change a block, which stays in memory.
  using Visit = std::function<void(PointsMatrix& block, std::int64_t first)>;
  void for_blocks(const Visit& visit);
  /// The same, and stores what visit() makes of each block: values in as many columns or fewer.
  void rewrite(const Visit& change);
  /// The rows of the source that were dropped; null without drop_missing.
  const MissingRows* missing() const { return missing_ ? &*missing_ : nullptr; }
  /// Bytes in the file.
  std::int64_t stored_bytes() const { return file_.size(); }

  std::string name() const override { return source_.name(); }
  std::string element_type() const override { return source_.element_type(); }
  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  ValueClass value_class() const override { return source_.value_class(); }
  std::int64_t file_bytes() const override { return rows_ * row_bytes(); }
  Number held_as() const override { return source_.held_as(); }
  std::int64_t changed_values() const override { return source_.changed_values(); }
  void bypass_cache_from(std::int64_t row) override { file_.bypass_cache_from(row * row_bytes()); }
  std::string watched_file() const override { return ""; }
  bool is_shared() const override { return true; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }

 private:
  std::int64_t row_bytes() const { return columns_ * size_of(held_as()); }
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) const {
    check_request(*this, first, out);
    file_.read(first * row_bytes(), out.rows * row_bytes(), out.data);
  }
  template <class T>
  std::int64_t drop_missing(MatrixView<T> block, std::int64_t first);

  PointSource& source_;
  std::optional<MissingRows> missing_;
  ScratchFile file_;
  std::int64_t rows_ = 0, columns_, block_rows_;
};

}  // namespace kith::data
