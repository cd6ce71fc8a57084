// A dataset that is read while others work with the rows that are there.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "core/backend.h"
#include "core/metric.h"
#include "data/missing_rows.h"
#include "data/source.h"

namespace kith::data {

struct ReadingOptions {
  Metric metric = Metric::euclidean;  // cosine: rows are scaled to length 1 as they come
  bool drop_missing = false;          // leave out rows with NaN or infinity; the source keeps these (Missing::keep)
};

/// Reads all rows of a source, in order, on a thread of its own. Nothing else may use the source, or HDF5, until all
/// rows are there or the object is gone: that library is not made for several threads.
class Reading final : public Arrival {
 public:
  /// Takes the memory for all values and begins. Throws std::bad_alloc.
  explicit Reading(PointSource& source, const ReadingOptions& options = {});
  /// Ends a reading that nobody waits for any more.
  ~Reading() override;
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// As Arrival says; what ended the reading is what PointSource::read or normalize_rows() throws, or that no
  /// row is left. Each part is some 100 MB. Counts rows of the source, also those that are left out.
  std::int64_t wait_for(std::int64_t rows) override;
  /// (n, d), of which rows that were waited for may be read. With drop_missing all must have been: the rows that are
  /// left.
  PointsView values() const { return view_of(values_); }
  /// With drop_missing the numbers that the rows of values() have in the source, empty when none was left out.
  std::span<const std::int64_t> kept_rows() const;
  std::int64_t dropped_rows() const { return missing_ ? missing_->dropped() : 0; }
  std::int64_t first_dropped_row() const { return missing_ ? missing_->first_dropped() : -1; }
  /// All values, to be changed in place by who has waited for all rows. The shape may change, too.
  PointsMatrix& matrix() { return values_; }
  PointSource& source() const { return source_; }
  /// How long the reading took, once all rows are there.
  double seconds() const { return seconds_; }

 private:
  void read_all();
  template <class T>
  void prepare(Matrix<T>& values, std::int64_t first, std::int64_t rows);
  /// False when nobody wants the rest.
  bool announce(std::int64_t rows);

  PointSource& source_;
  Metric metric_;
  std::optional<MissingRows> missing_;
  PointsMatrix values_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::int64_t there_ = 0;
  bool unwanted_ = false;
  std::exception_ptr failure_;
  double seconds_ = 0.0;
  std::thread reader_;
};

}  // namespace kith::data
