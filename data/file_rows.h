// Reads the rows of a file again in each pass, a few blocks ahead of the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/points/row_reader.h"
#include "data/source.h"

namespace kith::data {

struct FileRowsOptions {
  std::int64_t block_bytes = std::int64_t{16} << 20;  // of values; at least one row
};

/// What has been read so far; other threads may look at any time.
struct ReadCounts {
  std::atomic<std::int64_t> passes = 0, bytes = 0;
  std::atomic<std::int64_t> shared_bytes = 0;  // by several threads, outside of passes
};

/// A thread reads the blocks of a pass into kBlocks buffers while the caller uses one of them. The file must stay as it
/// is: its size, time and identity are compared in each pass, and the first values of each block with those of the
/// first pass. During a pass nothing else may use the source. The thread ends with the pass. Buffers are allocated for
/// the first one.
class FileRows final : public RowReader {
 public:
  static constexpr std::int64_t kBlocks = 3;

  /// The source must outlive the object.
  FileRows(PointSource& source, const FileRowsOptions& options);
  ~FileRows() override { end_pass(); }
  FileRows(const FileRows&) = delete;
  FileRows& operator=(const FileRows&) = delete;

  std::int64_t rows() const override { return source_.rows(); }
  std::int64_t columns() const override { return source_.columns(); }
  /// Throws std::bad_alloc and Error(data).
  void begin(std::int64_t first) override;
  /// Throws what PointSource::read() throws, and Error(data) for a file that has changed.
  PointsView next() override;
  PointsMatrix gather(std::span<const std::int64_t> rows) override;
  bool is_shared() const override { return source_.is_shared(); }
  void read(std::int64_t first, std::int64_t count, std::byte* out) override;
  /// (n, d), of the type of the blocks, without memory.
  PointsView shape() const { return shape_; }

  /// Passes, and what several threads have read, in whole sets of rows.
  std::int64_t passes() const { return counts_->passes + (counts_->shared_bytes + all_bytes() - 1) / all_bytes(); }
  /// Bytes of values, as they are held, that were read.
  std::int64_t bytes() const { return counts_->bytes + counts_->shared_bytes; }
  std::shared_ptr<const ReadCounts> counts() const { return counts_; }
  /// Bytes of the buffers.
  std::int64_t held_bytes() const { return kBlocks * block_rows_ * row_bytes_; }

 private:
  FileStamp identity() const { return file_.empty() ? FileStamp{} : stamp_of(file_); }
  void require_unchanged() const;
  [[noreturn]] void refuse_changed() const;
  std::int64_t all_bytes() const { return std::max<std::int64_t>(rows() * row_bytes_, 1); }
  std::int64_t blocks() const { return (rows() - first_ + block_rows_ - 1) / block_rows_; }
  std::int64_t rows_of_block(std::int64_t block) const;
  /// Reads rows first .. first + count - 1 into a buffer.
  void read(std::int64_t first, std::int64_t count, PointsMatrix& buffer);
  void compare_sample(std::int64_t block, const PointsMatrix& buffer);
  void fill(std::int64_t block);
  void read_pass();
  void end_pass();

  PointSource& source_;
  std::string file_;
  std::int64_t row_bytes_, block_rows_;
  FileStamp identity_;
  PointsView shape_;
  std::vector<PointsMatrix> buffers_;
  std::vector<std::optional<std::uint32_t>> samples_;  // checksums of the first values of each block
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> read_samples_;  // the same of reads: first row, rows
  std::int64_t first_ = 0;                                                       // row of the pass
  std::shared_ptr<ReadCounts> counts_ = std::make_shared<ReadCounts>();

  std::mutex mutex_;
  std::condition_variable progress_;
  std::int64_t filled_ = 0, taken_ = 0;  // blocks of the pass that have been read, and that the caller has had
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::thread reader_;
};

}  // namespace kith::data
