// What both formats share: bytes and memory for Arrow, and the errors that it reports.
#include "data/arrow/arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/future.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
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

// Arrow's own files (IPC, Feather version 2): record batches, decoded as a whole.

namespace {

using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

class IpcFile final : public ArrowFile {
 public:
  explicit IpcFile(InputBytes input) : ArrowFile(std::move(input)) {
    schema_ = open_reader({})->schema();
    if (schema_->num_fields() == 0) refuse("it has no columns");
    // Arrow reports the rows of a batch only after it has read some of it.
    const std::vector<int> narrowest{narrowest_field()};
    const Reader reader = open_reader(narrowest);
    for (int part = 0; part < reader->num_record_batches(); ++part) {
      add_part(checked(reader->ReadRecordBatch(part))->num_rows());
    }
    give_back(narrowest, reader);
  }

  std::string kind() const override { return "an Arrow file"; }
  std::string layout() const override { return fmt::format("record batches: {}", parts()); }
  std::int64_t decoding_bytes(std::int64_t part, const std::vector<int>&, std::int64_t row_bytes) const override {
    return 2 * (start(part + 1) - start(part)) * row_bytes;  // as stored, and decompressed
  }
  ArrowBatches read(std::int64_t part, const std::vector<int>& fields) override {
    std::optional<std::int64_t> left = part;  // nothing once the batch has been returned
    return [this, left, fields]() mutable -> std::shared_ptr<arrow::RecordBatch> {
      if (!left) return nullptr;
      const Reader reader = take_reader(fields);
      auto batch = checked(reader->ReadRecordBatch(static_cast<int>(*left)));
      give_back(fields, reader);
      left.reset();
      return batch;
    };
  }

 private:
  /// Throws unless the buffers of the batch are as long as its rows need, which Arrow does not check by itself.
  std::shared_ptr<arrow::RecordBatch> checked(arrow::Result<std::shared_ptr<arrow::RecordBatch>> result) const {
    auto batch = require(std::move(result));
    require(batch->ValidateFull());
    return batch;
  }

  int narrowest_field() const {
    int best = 0, least = 1 << 20;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const auto* type = dynamic_cast<const arrow::FixedWidthType*>(schema_->field(i)->type().get());
      if (type == nullptr || type->id() == arrow::Type::DICTIONARY || type->bit_width() >= least) continue;
      best = i;
      least = type->bit_width();
    }
    return best;
  }

  Reader open_reader(const std::vector<int>& fields) {
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = &memory();
    options.use_threads = false;
    options.included_fields = fields;
    return require(arrow::ipc::RecordBatchFileReader::Open(bytes(), options));
  }
  /// A reader serves one thread, and always the same fields.
  Reader take_reader(const std::vector<int>& fields) {
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::find_if(idle_.begin(), idle_.end(), [&](const auto& entry) { return entry.first == fields; });
      if (found != idle_.end()) {
        Reader reader = std::move(found->second);
        idle_.erase(found);
        return reader;
      }
    }
    return open_reader(fields);
  }
  void give_back(const std::vector<int>& fields, Reader reader) {
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(fields, std::move(reader));
  }

  std::vector<std::pair<std::vector<int>, Reader>> idle_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<ArrowFile> open_ipc_file(InputBytes input) { return std::make_unique<IpcFile>(std::move(input)); }

// Parquet files: row groups, decoded page by page.

namespace {

constexpr std::int64_t kBatchRows = std::int64_t{16} << 10;

class ParquetFile final : public ArrowFile {
 public:
  explicit ParquetFile(InputBytes input) : ArrowFile(std::move(input)) {
    parquet::ReaderProperties properties(&memory());
    properties.enable_buffered_stream();  // pages are read when they are needed, not whole row groups
    parquet::ArrowReaderProperties settings(false);
    settings.set_batch_size(kBatchRows);
    settings.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    require(builder.Open(bytes(), properties));
    require(builder.memory_pool(&memory())->properties(settings)->Build(&reader_));
    require(reader_->GetSchema(&schema_));
    metadata_ = reader_->parquet_reader()->metadata();
    for (int group = 0; group < metadata_->num_row_groups(); ++group) add_part(check_group(group));
    if (rows() != metadata_->num_rows()) {
      refuse(fmt::format("it declares {} rows, and its row groups have {}", metadata_->num_rows(), rows()));
    }
  }

  std::string kind() const override { return "a Parquet file"; }
  std::string layout() const override { return fmt::format("row groups: {}", parts()); }
  std::vector<std::string> filters() const override {
    std::vector<std::string> names;
    if (parts() == 0) return names;
    const auto group = metadata_->RowGroup(0);
    for (int leaf = 0; leaf < group->num_columns(); ++leaf) {
      const auto codec = group->ColumnChunk(leaf)->compression();
      std::string name = arrow::util::Codec::GetCodecAsString(codec);
      const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
      if (codec != arrow::Compression::UNCOMPRESSED && !is_known) names.push_back(std::move(name));
    }
    return names;
  }
  std::int64_t decoding_bytes(std::int64_t part, const std::vector<int>& fields,
                              std::int64_t row_bytes) const override {
    constexpr std::int64_t kUsualPage = std::int64_t{1} << 20;
    const auto group = metadata_->RowGroup(static_cast<int>(part));
    std::int64_t bytes = std::min(kBatchRows, group->num_rows()) * row_bytes;
    for (const int leaf : leaves(fields)) {  // a page, decompressed and as stored
      bytes += 2 * std::clamp<std::int64_t>(group->ColumnChunk(leaf)->total_uncompressed_size(), 0, kUsualPage);
    }
    return bytes;
  }
  ArrowBatches read(std::int64_t part, const std::vector<int>& fields) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<arrow::RecordBatchReader> batches =
        require(reader_->GetRecordBatchReader({static_cast<int>(part)}, leaves(fields)));
    return [this, batches] { return require(batches->Next()); };
  }

 private:
  /// Returns the rows of a group. The values of a column that is no list are its rows, so that a damaged number is
  /// found before memory is taken.
  std::int64_t check_group(int index) const {
    const auto group = metadata_->RowGroup(index);
    if (group->num_columns() != metadata_->num_columns()) refuse("a row group lacks columns");
    for (int leaf = 0; leaf < group->num_columns(); ++leaf) {
      const bool is_list = metadata_->schema()->Column(leaf)->max_repetition_level() > 0;
      const std::int64_t values = group->ColumnChunk(leaf)->num_values();
      if (is_list || values == group->num_rows()) continue;
      refuse(fmt::format("row group {} has {} rows, and its column {} has {} values", index + 1, group->num_rows(),
                         leaf + 1, values));
    }
    return group->num_rows();
  }

  static void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
    if (field.is_leaf()) leaves.push_back(field.column_index);
    for (const auto& child : field.children) add_leaves(child, leaves);
  }
  /// The columns of the file that make up these fields.
  std::vector<int> leaves(const std::vector<int>& fields) const {
    std::vector<int> leaves;
    for (const int field : fields) {
      add_leaves(reader_->manifest().schema_fields.at(static_cast<std::size_t>(field)), leaves);
    }
    return leaves;
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<ArrowFile> open_parquet_file(InputBytes input) {
  return std::make_unique<ParquetFile>(std::move(input));
}

}  // namespace kith::data
