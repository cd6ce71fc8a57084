// One thread fills a ring of buffers; its exception reaches the caller in the place of the block.
#include "data/file_rows.h"

#include <fmt/format.h>

#include <system_error>

#include "data/io/checksum.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

constexpr std::int64_t kComparedBytes = 4096;   // of each block
constexpr std::int64_t kReadSampleBytes = 512;  // of a read

}  // namespace

FileRows::FileRows(PointSource& source, const FileRowsOptions& options)
    : source_(source),
      file_(source.watched_file()),
      row_bytes_(source.columns() * size_of(source.held_as())),
      block_rows_(
          std::clamp<std::int64_t>(options.block_bytes / row_bytes_, 1, std::max<std::int64_t>(source.rows(), 1))),
      identity_(identity()),
      shape_(std::visit(
          [&]<class T>(const Matrix<T>&) -> PointsView {
            return MatrixView<const T>{nullptr, source.rows(), source.columns()};
          },
          allocate_points(source, 0))) {}

void FileRows::refuse_changed() const {
  refuse_input(source_.name(),
               fmt::format("changed between pass {} and an earlier one over its rows; run kith again when no "
                           "other program writes to it",
                           counts_->passes.load()));
}

void FileRows::require_unchanged() const {
  if (identity() != identity_) refuse_changed();
}

std::int64_t FileRows::rows_of_block(std::int64_t block) const {
  return std::min(block_rows_, rows() - first_ - block * block_rows_);
}

void FileRows::begin(std::int64_t first) {
  end_pass();
  require_unchanged();
  while (std::ssize(buffers_) < kBlocks) buffers_.push_back(allocate_points(source_, block_rows_));
  if (first != first_) samples_.clear();
  first_ = first;
  samples_.resize(static_cast<std::size_t>(blocks()));
  ++counts_->passes;
  filled_ = taken_ = 0;
  stopped_ = false;
  failure_ = nullptr;
  try {
    reader_ = std::thread([this] { read_pass(); });
  } catch (const std::system_error&) {  // the system provides no thread: next() reads
  }
}

PointsView FileRows::next() {
  std::unique_lock lock(mutex_);
  if (taken_ == blocks()) {
    lock.unlock();
    end_pass();
    require_unchanged();
    return std::visit([](const auto& buffer) -> PointsView { return buffer.view().middle(0, 0); }, buffers_.front());
  }
  if (!reader_.joinable()) {
    fill(taken_);
    ++filled_;
  }
  progress_.wait(lock, [this] { return filled_ > taken_ || failure_; });
  if (filled_ == taken_) std::rethrow_exception(failure_);
  const std::int64_t block = taken_++;
  lock.unlock();
  progress_.notify_all();  // the buffer of the block before may be filled again
  counts_->bytes += rows_of_block(block) * row_bytes_;
  return std::visit([&](const auto& buffer) -> PointsView { return buffer.view().middle(0, rows_of_block(block)); },
                    buffers_[static_cast<std::size_t>(block % kBlocks)]);
}

PointsMatrix FileRows::gather(std::span<const std::int64_t> rows) {
  end_pass();
  PointsMatrix all = allocate_points(source_, std::ssize(rows));
  PointsMatrix one = allocate_points(source_, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    read(rows[i], 1, one);
    std::visit(
        [&]<class T>(Matrix<T>& to) {
          std::copy_n(std::get<Matrix<T>>(one).data(), columns(), to.row(static_cast<std::int64_t>(i)).data());
        },
        all);
  }
  counts_->bytes += std::ssize(rows) * row_bytes_;
  return all;
}

void FileRows::read(std::int64_t first, std::int64_t count, PointsMatrix& buffer) {
  std::visit([&](auto& values) { source_.read(first, values.view().middle(0, count)); }, buffer);
}

void FileRows::read(std::int64_t first, std::int64_t count, std::byte* out) {
  constexpr std::int64_t kSampled = 16;  // one read in this many is compared
  std::visit(
      [&]<class T>(MatrixView<const T>) {
        source_.read(first, MatrixView<T>{reinterpret_cast<T*>(out), count, columns()});
      },
      shape_);
  counts_->shared_bytes += count * row_bytes_;
  if (count == 1 || first / count % kSampled != 0) return;
  Checksum checksum;
  checksum.add(out, static_cast<std::size_t>(std::min(kReadSampleBytes, count * row_bytes_)));
  const std::lock_guard lock(mutex_);
  if (read_samples_.try_emplace({first, count}, checksum.value()).first->second != checksum.value()) refuse_changed();
}

void FileRows::compare_sample(std::int64_t block, const PointsMatrix& buffer) {
  const std::int64_t bytes = std::min(kComparedBytes, rows_of_block(block) * row_bytes_);
  Checksum checksum;
  std::visit([&](const auto& values) { checksum.add(values.data(), static_cast<std::size_t>(bytes)); }, buffer);
  std::optional<std::uint32_t>& before = samples_[static_cast<std::size_t>(block)];
  if (before && *before != checksum.value()) refuse_changed();
  before = checksum.value();
}

void FileRows::fill(std::int64_t block) {
  PointsMatrix& buffer = buffers_[static_cast<std::size_t>(block % kBlocks)];
  read(first_ + block * block_rows_, rows_of_block(block), buffer);
  compare_sample(block, buffer);
}

void FileRows::read_pass() {
  try {
    for (std::int64_t block = 0; block < blocks(); ++block) {
      {
        std::unique_lock lock(mutex_);  // the caller uses block taken_ - 1
        progress_.wait(lock, [&] { return stopped_ || block - std::max<std::int64_t>(taken_ - 1, 0) < kBlocks; });
        if (stopped_) return;
      }
      fill(block);
      {
        const std::lock_guard lock(mutex_);
        ++filled_;
      }
      progress_.notify_all();
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    progress_.notify_all();
  }
}

void FileRows::end_pass() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  progress_.notify_all();
  if (reader_.joinable()) reader_.join();
}

}  // namespace kith::data
