// Reads a dataset part by part on a thread, and wakes who waits for the rows.
#include "data/reading.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <type_traits>

namespace kith::data {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{128} << 20;  // of a part
constexpr std::int64_t kLeastBytes = std::int64_t{8} << 20;
constexpr std::int64_t kParts = 16;  // at least, of what is large: so much of it can wait for the first part

/// Bytes have no room for them: a source of which directions are wanted is opened without ReadOptions::keep_bytes.
template <class T>
void make_directions(MatrixView<T> rows, const RowPlace& place) {
  if constexpr (std::is_floating_point_v<T>) {
    normalize_rows(rows, place);
  } else {
    throw Error(ExitCode::internal, place.name + ": rows of length 1 asked of values that are held as bytes");
  }
}

}  // namespace

Reading::Reading(PointSource& source, const ReadingOptions& options)
    : source_(source), metric_(options.metric), values_(room_for(source)) {
  if (options.drop_missing) missing_.emplace(source);
  try {
    reader_ = std::thread([this] { read_all(); });
  } catch (const std::system_error&) {  // no thread to be had: then before anything else
    read_all();
  }
}

Reading::~Reading() {
  {
    const std::lock_guard lock(mutex_);
    unwanted_ = true;
  }
  if (reader_.joinable()) reader_.join();
}

std::int64_t Reading::wait_for(std::int64_t rows) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return there_ >= rows || failure_; });
  if (there_ < rows) std::rethrow_exception(failure_);
  const std::int64_t there = there_;
  lock.unlock();
  if (there == source_.rows() && reader_.joinable()) reader_.join();  // HDF5 is free again
  return there;
}

void Reading::read_all() {
  const auto begin = std::chrono::steady_clock::now();
  try {
    std::visit(
        [this]<class T>(Matrix<T>& values) {
          const std::int64_t row_bytes = values.columns() * static_cast<std::int64_t>(sizeof(T));
          const std::int64_t part_bytes = std::clamp(row_bytes * values.rows() / kParts, kLeastBytes, kMostBytes);
          const std::int64_t part = std::max<std::int64_t>(part_bytes / row_bytes, 1);
          const std::int64_t all = values.rows();
          for (std::int64_t first = 0; first < all;) {
            const std::int64_t rows = std::min(part, all - first);
            source_.read(first, values.view().middle(first, rows));
            prepare(values, first, rows);
            if (missing_ && first + rows == all) {
              missing_->check();
              values.reshape(std::ssize(missing_->kept()), values.columns());
            }
            if (!announce(first += rows)) return;
          }
        },
        values_);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  arrived_.notify_all();
}

template <class T>
void Reading::prepare(Matrix<T>& values, std::int64_t first, std::int64_t rows) {
  const bool directions = metric_ == Metric::cosine;
  RowPlace place{source_.name(), first, "--metric cosine"};
  if (!missing_) {
    if (directions) make_directions(values.view().middle(first, rows), place);
    return;
  }
  for (; place.first_row < first + rows; ++place.first_row) {
    if (!missing_->keep(values.view(), place.first_row) || !directions) continue;
    make_directions(values.view().middle(std::ssize(missing_->kept()) - 1, 1), place);
  }
}

std::span<const std::int64_t> Reading::kept_rows() const {
  if (dropped_rows() == 0) return {};
  return missing_->kept();
}

bool Reading::announce(std::int64_t rows) {
  bool wanted = true;
  {
    const std::lock_guard lock(mutex_);
    there_ = rows;
    wanted = !unwanted_;
  }
  arrived_.notify_all();
  return wanted;
}

}  // namespace kith::data
