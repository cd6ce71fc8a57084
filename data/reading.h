// Reads a dataset while other threads use the rows that have arrived, or into a scratch file; drops rows with missing
// values.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/points/backend.h"
#include "data/format/point_source.h"
#include "data/io/scratch_file.h"
#include "data/source.h"

namespace kith::data {

/// Every row was dropped.
struct AllDropped : Error {
  using Error::Error;
};

class MissingRows {
 public:
  explicit MissingRows(const PointSource& source);

  /// Call for each row of the source in order. Returns false, and drops the row, if it holds NaN or infinity.
  template <class T>
  bool keep(std::span<const T> values, std::int64_t row);
  /// Throws AllDropped if no row was kept, with the column that has the most missing values.
  void check() const;

  /// Numbers of the kept rows in the source, ascending.
  const std::vector<std::int64_t>& kept() const { return kept_; }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t first_dropped() const { return first_; }  // -1: none

 private:
  const PointSource& source_;
  std::vector<std::int64_t> kept_;
  std::int64_t dropped_ = 0;
  std::int64_t first_ = -1;
  std::vector<std::int64_t> missing_;  // (d) missing values in each column
};

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
  RowBits row_bits() const override { return source_.row_bits(); }
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

struct ReadingOptions {
  bool drop_missing = false;       // drop rows with NaN or infinity; needs a source with Missing::keep
  std::int64_t rows = 0;           // read only the first ones; 0: all
  SpooledRows* spooled = nullptr;  // the rows of the source, prepared, to read in its place
};

/// Reads the rows of a source, in order, on its own thread. Until all rows have arrived or the object is destroyed,
/// nothing else may use the source or HDF5, which is not thread-safe.
class Reading final : public Arrival {
 public:
  /// Allocates the memory for all values and starts reading. Throws std::bad_alloc.
  explicit Reading(PointSource& source, const ReadingOptions& options = {});
  /// Stops after the block that is being read.
  ~Reading() override;
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// As in Arrival; rethrows what PointSource::read() threw, or that every row was dropped. Rows
  /// arrive in blocks of about 100 MB. Counts rows of the source, including dropped ones.
  std::int64_t wait_for(std::int64_t rows) override;
  /// The number of rows to read, including those that are dropped.
  std::int64_t rows() const { return rows_; }
  /// (n, d). Only rows returned by wait_for() may be read; with drop_missing, only after waiting for all rows, and then
  /// n counts the kept rows.
  PointsView values() const { return view_of(values_); }
  /// The numbers of the rows of values() in the source if rows were dropped, else empty.
  std::span<const std::int64_t> kept_rows() const;
  std::int64_t dropped_rows() const { return missing() != nullptr ? missing()->dropped() : 0; }
  std::int64_t first_dropped_row() const { return missing() != nullptr ? missing()->first_dropped() : -1; }
  /// All values, for changes in place after waiting for all rows. The shape may change, too.
  PointsMatrix& matrix() { return values_; }
  PointSource& source() const { return source_; }
  /// The source, or the rows that are read in its place.
  const PointSource& from() const { return from_; }
  /// Duration of the reading; valid once all rows have arrived.
  double seconds() const { return seconds_; }

 private:
  /// Null: no row is dropped.
  const MissingRows* missing() const {
    return spooled_ != nullptr ? spooled_->missing() : missing_ ? &*missing_ : nullptr;
  }
  void read_all();
  /// Moves the rows that are kept of these to the front.
  template <class T>
  void drop_missing(Matrix<T>& values, std::int64_t first, std::int64_t rows);
  /// Publishes the number of rows that have arrived. Returns false if the reading is to stop.
  bool announce(std::int64_t rows);

  PointSource& source_;
  SpooledRows* spooled_;
  PointSource& from_;  // one of the two
  std::int64_t rows_;
  std::optional<MissingRows> missing_;
  PointsMatrix values_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::int64_t arrived_rows_ = 0;
  bool stopped_ = false;
  std::exception_ptr failure_;
  double seconds_ = 0.0;
  std::thread reader_;
};

}  // namespace kith::data
