// Reads a dataset block by block on a thread, and wakes the threads that wait for the rows.
#include "data/reading.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/runtime/clock.h"

namespace kith::data {
namespace {

constexpr std::int64_t kMaxBlockBytes = std::int64_t{128} << 20;
constexpr std::int64_t kMinBlockBytes = std::int64_t{8} << 20;
constexpr std::int64_t kMinBlocks = 16;  // of a large dataset, so that work can start after 1/16 of it

}  // namespace

Reading::Reading(PointSource& source, const ReadingOptions& options)
    : source_(source),
      spooled_(options.spooled),
      from_(spooled_ != nullptr ? *spooled_ : source),
      rows_(options.rows > 0 ? options.rows : from_.rows()),
      values_(allocate_points(from_, rows_)) {
  if (options.drop_missing && spooled_ == nullptr) missing_.emplace(source);
  try {
    reader_ = std::thread([this] { read_all(); });
  } catch (const std::system_error&) {  // the system provides no thread: read everything now
    read_all();
  }
}

Reading::~Reading() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  if (reader_.joinable()) reader_.join();
}

std::int64_t Reading::wait_for(std::int64_t rows) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return arrived_rows_ >= rows || failure_; });
  if (arrived_rows_ < rows) std::rethrow_exception(failure_);
  const std::int64_t arrived = arrived_rows_;
  lock.unlock();
  if (arrived == rows_ && reader_.joinable()) reader_.join();  // other threads may use HDF5 again
  return arrived;
}

void Reading::read_all() {
  const auto begin = Clock::now();
  try {
    std::visit(
        [this]<class T>(Matrix<T>& values) {
          const std::int64_t row_bytes = values.columns() * static_cast<std::int64_t>(sizeof(T));
          const std::int64_t block_bytes =
              std::clamp(row_bytes * values.rows() / kMinBlocks, kMinBlockBytes, kMaxBlockBytes);
          const std::int64_t block_rows = std::max<std::int64_t>(block_bytes / row_bytes, 1);
          const std::int64_t all = values.rows();
          for (std::int64_t first = 0; first < all;) {
            const std::int64_t rows = std::min(block_rows, all - first);
            from_.read(first, values.view().middle(first, rows));
            if (missing_) drop_missing(values, first, rows);
            if (missing_ && first + rows == all) {
              missing_->check();
              values.reshape(std::ssize(missing_->kept()), values.columns());
            }
            if (!announce(first += rows)) return;
          }
        },
        values_);
    seconds_ = seconds_since(begin);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  arrived_.notify_all();
}

template <class T>
void Reading::drop_missing(Matrix<T>& values, std::int64_t first, std::int64_t rows) {
  for (std::int64_t i = first; i < first + rows; ++i) {
    const std::span<const T> row = std::as_const(values).row(i);
    if (!missing_->keep(row, i) || missing_->dropped() == 0) continue;
    std::copy(row.begin(), row.end(), values.row(std::ssize(missing_->kept()) - 1).begin());
  }
}

std::span<const std::int64_t> Reading::kept_rows() const {
  if (dropped_rows() == 0) return {};
  return missing()->kept();
}

bool Reading::announce(std::int64_t rows) {
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    arrived_rows_ = rows;
    stopped = stopped_;
  }
  arrived_.notify_all();
  return !stopped;
}

}  // namespace kith::data
