// Reads rows block by block: into memory on a thread of its own, or into a scratch file.
#include "data/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <system_error>
#include <utility>

#include "core/points/row_reader.h"
#include "core/runtime/clock.h"
#include "data/format/column_choice.h"

namespace kith::data {

MissingRows::MissingRows(const PointSource& source)
    : source_(source), missing_(static_cast<std::size_t>(source.columns()), 0) {}

template <class T>
bool MissingRows::keep(std::span<const T> current, std::int64_t row) {
  const auto is_missing = [](T v) { return !std::isfinite(static_cast<double>(v)); };
  if (std::any_of(current.begin(), current.end(), is_missing)) {
    for (std::size_t j = 0; j < current.size(); ++j) missing_[j] += is_missing(current[j]) ? 1 : 0;
    if (dropped_++ == 0) first_ = row;
    return false;
  }
  kept_.push_back(row);
  return true;
}

#define KITH_INSTANTIATE(T) template bool MissingRows::keep<T>(std::span<const T>, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

void MissingRows::check() const {
  if (!kept_.empty()) return;
  const auto emptiest = std::max_element(missing_.begin(), missing_.end());
  throw AllDropped(
      ExitCode::data,
      fmt::format("{}: all {} rows were dropped for NaN or infinity; expected at least one without; {} lacks {} "
                  "values: drop columns that lack many with --drop-columns",
                  source_.name(), source_.rows(), show_column(source_.column_names(), emptiest - missing_.begin()),
                  *emptiest));
}

namespace {

std::int64_t rows_of_block(const PointSource& source, const SpoolOptions& options) {
  const std::int64_t row_bytes = std::max<std::int64_t>(source.columns() * size_of(source.held_as()), 1);
  const std::int64_t rows = std::max({options.block_bytes / row_bytes, options.least_rows, std::int64_t{1}});
  const std::int64_t even = rows < kRowsOfBlocks ? rows : rows / kRowsOfBlocks * kRowsOfBlocks;
  return std::min(even, std::max<std::int64_t>(source.rows(), 1));
}

}  // namespace

SpooledRows::SpooledRows(PointSource& source, const SpoolOptions& options,
                         const std::function<void(std::int64_t rows)>& progress)
    : source_(source), file_(options.folder), columns_(source.columns()), block_rows_(rows_of_block(source, options)) {
  if (options.drop_missing) missing_.emplace(source);
  const std::int64_t all = source.rows();
  file_.require_space(checked_product(all, row_bytes(), source.name().c_str()));
  PointsMatrix buffers[] = {allocate_points(source, block_rows_), allocate_points(source, block_rows_)};
  std::future<void> written;  // of the block before
  for (std::int64_t first = 0; first < all; first += block_rows_) {
    const auto fill = [&](auto& values) {
      const auto block = values.view().middle(0, std::min(block_rows_, all - first));
      source.read(first, block);
      const std::int64_t kept = drop_missing(block, first);
      if (written.valid()) written.get();
      written = std::async(
          [this, block, kept, at = rows_] { file_.write(at * row_bytes(), block.data, kept * row_bytes()); });
      rows_ += kept;
      progress(first + block.rows);
    };
    std::visit(fill, buffers[first / block_rows_ % 2]);
  }
  if (written.valid()) written.get();
  if (missing_) missing_->check();
}

/// Moves the rows that are kept to the front of the block, and returns their number.
template <class T>
std::int64_t SpooledRows::drop_missing(MatrixView<T> block, std::int64_t first) {
  if (!missing_) return block.rows;
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    if (!missing_->keep<T>(block.row(i), first + i)) continue;
    if (kept < i) std::copy(block.row(i).begin(), block.row(i).end(), block.row(kept).begin());
    ++kept;
  }
  return kept;
}

void SpooledRows::for_blocks(const Visit& visit) {
  for (std::int64_t first = 0; first < rows_; first += block_rows_) {
    PointsMatrix block = allocate_points(*this, std::min(block_rows_, rows_ - first));
    std::visit([&](auto& values) { read(first, values.view()); }, block);
    visit(block, first);
  }
}

void SpooledRows::rewrite(const Visit& change) {
  std::int64_t columns = columns_;
  for_blocks([&](PointsMatrix& block, std::int64_t first) {
    change(block, first);
    std::visit(
        [&](const auto& values) {
          columns = values.columns();
          const std::int64_t of_row = columns * size_of(held_as());
          file_.write(first * of_row, values.data(), values.rows() * of_row);  // not beyond what has been read
        },
        block);
  });
  columns_ = columns;
}

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
