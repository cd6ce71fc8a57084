// A dataset that is read while others work with the rows that are there.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "core/backend.h"
#include "core/metric.h"
#include "data/source.h"

namespace kith::data {

/// Reads all rows of a source, in order, on a thread of its own. Nothing else may use the source, or HDF5, until all
/// rows are there or the object is gone: that library is not made for several threads.
class Reading final : public Arrival {
 public:
  /// Takes the memory for all values and begins. With the metric cosine rows are scaled to length 1 as they come.
  /// Throws std::bad_alloc.
  explicit Reading(PointSource& source, Metric metric = Metric::euclidean);
  /// Ends a reading that nobody waits for any more.
  ~Reading() override;
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// As Arrival says; what ended the reading is what PointSource::read or unit_rows() throws. Each part is some 100 MB.
  std::int64_t wait_for(std::int64_t rows) override;
  PointsView values() const { return view_of(values_); }  // (n, d), of which rows that were waited for may be read
  PointSource& source() const { return source_; }
  /// How long the reading took, once all rows are there.
  double seconds() const { return seconds_; }

 private:
  void read_all();
  /// False when nobody wants the rest.
  bool announce(std::int64_t rows);

  PointSource& source_;
  Metric metric_;
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
