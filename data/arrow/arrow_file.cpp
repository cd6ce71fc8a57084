// What both formats share: bytes and memory for Arrow, and the errors that it reports.
#include "data/arrow/arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/util/future.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"

namespace kith::data {
namespace {

/// Lets Arrow read an input of kith.
class InputFile final : public arrow::io::RandomAccessFile {
 public:
  InputFile(std::shared_ptr<const InputBytes> input, arrow::MemoryPool* memory)
      : input_(std::move(input)), memory_(memory) {}

  using RandomAccessFile::ReadAt;
  arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t count, void* out) override {
    if (at < 0 || count < 0) return arrow::Status::Invalid("a negative position");
    const std::int64_t there = std::clamp<std::int64_t>(input_->size() - at, 0, count);
    const std::string failure = input_->try_read(at, there, static_cast<std::byte*>(out));
    if (!failure.empty()) return arrow::Status::IOError(failure);
    return there;
  }
  /// Newer versions of Arrow have this one too.
  arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t count, bool allow_short, void* out) {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t there, ReadAt(at, count, out));
    if (there < count && !allow_short) return arrow::Status::IOError("the end of the file is missing");
    return there;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at, std::int64_t count) override {
    if (at < 0 || count < 0) return arrow::Status::Invalid("a negative position");
    const std::int64_t there = std::clamp<std::int64_t>(input_->size() - at, 0, count);
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(there, memory_));
    ARROW_RETURN_NOT_OK(ReadAt(at, there, buffer->mutable_data()));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at, std::int64_t count, bool allow_short) {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(at, count));
    if (buffer->size() < count && !allow_short) return arrow::Status::IOError("the end of the file is missing");
    return buffer;
  }
  // At once, not on threads of Arrow, which --threads does not count.
  using RandomAccessFile::ReadAsync;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, std::int64_t at,
                                                          std::int64_t count) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(at, count));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, std::int64_t at,
                                                          std::int64_t count, bool allow_short) {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(at, count, allow_short));
  }
  arrow::Result<std::int64_t> GetSize() override { return input_->size(); }
  arrow::Result<std::int64_t> Tell() const override { return at_; }
  arrow::Status Seek(std::int64_t at) override {
    at_ = at;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Read(std::int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t there, ReadAt(at_, count, out));
    at_ += there;
    return there;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(at_, count));
    at_ += buffer->size();
    return buffer;
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  std::shared_ptr<const InputBytes> input_;
  arrow::MemoryPool* memory_;
  std::int64_t at_ = 0;
  bool closed_ = false;
};

constexpr std::string_view kParquet = "PAR1", kEncrypted = "PARE", kIpc = "ARROW1";

}  // namespace

void refuse_arrow_file(const std::string& name, const std::string& reason) {
  // Arrow appends the places in its sources.
  const std::string text = reason.substr(0, reason.find('\n'));
  refuse_input(name, fmt::format("damaged, or of a kind that this build of Arrow cannot read: {}; copy or download it "
                                 "again, or write it again",
                                 quoted(text, 300)));
}

arrow::Status ArrowMemory::check(std::int64_t bytes) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 20;
  if (bytes < kSmall || bytes <= memory_limit()) return arrow::Status::OK();
  refused_ = bytes;
  return arrow::Status::OutOfMemory(bytes);
}

arrow::Status ArrowMemory::Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
  ARROW_RETURN_NOT_OK(check(size));
  return ProxyMemoryPool::Allocate(size, alignment, out);
}

arrow::Status ArrowMemory::Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                                      std::uint8_t** data) {
  ARROW_RETURN_NOT_OK(check(new_size - old_size));
  return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, data);
}

void ArrowFile::require(const arrow::Status& status) const {
  if (status.ok()) return;
  if (status.IsOutOfMemory() && memory().refused() > 0) {
    // No compression expands so much.
    if (memory().refused() / (1 << 17) > input_->size()) refuse("it asks for more memory than its bytes can fill");
    require_memory(memory().refused(), name());
  }
  refuse(status.message());
}

std::shared_ptr<arrow::io::RandomAccessFile> ArrowFile::bytes() {
  return std::make_shared<InputFile>(input_, &memory());
}

ArrowMemory& ArrowFile::memory() {
  static auto* const memory = new ArrowMemory;  // never deleted
  return *memory;
}

void ArrowFile::add_part(std::int64_t rows) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 53;
  if (rows < 0 || rows > kMostRows - starts_.back()) refuse(fmt::format("it has a part of {} rows", rows));
  starts_.push_back(starts_.back() + rows);
}

bool is_arrow(const std::string& file) {
  const std::string begin = begin_of_stream(file);
  return begin.starts_with(kParquet) || begin.starts_with(kIpc) || begin.starts_with(kEncrypted);
}

std::unique_ptr<ArrowFile> open_arrow_file(const std::string& file, const std::string& scratch) {
  InputBytes input = open_stream(file, "a Parquet or Arrow file", scratch);
  const std::string name = input.name(), begin = input.begin(kSampleBytes);
  return without_foreign_exceptions(name, [&] {
    if (begin.starts_with(kParquet)) return open_parquet_file(std::move(input));
    if (begin.starts_with(kIpc)) return open_ipc_file(std::move(input));
    if (!begin.starts_with(kEncrypted)) refuse_unknown_kind(file);
    refuse_input(name, "expected a Parquet file, found an encrypted one; write it without encryption");
  });
}

}  // namespace kith::data
