// Reads a dataset on a background thread while other threads use the rows that have arrived.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "core/points/backend.h"
#include "data/missing_rows.h"
#include "data/source.h"
#include "data/spooled_rows.h"

namespace kith::data {

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
