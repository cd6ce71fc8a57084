// What both formats share: bytes and memory for Arrow, and the errors that it reports.
#include "data/arrow/arrow_file.h"

#include <arrow/buffer.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/future.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>

#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

/// Lets Arrow read an input of kith. Where the system can map the file into memory, buffers of Arrow are parts of it:
/// an Arrow file and uncompressed pages of Parquet are not copied. If somebody makes the file shorter meanwhile, that
/// ends this process, and kith says that the file has changed.
class InputFile final : public arrow::io::RandomAccessFile {
 public:
  InputFile(std::shared_ptr<const InputBytes> input, arrow::MemoryPool* memory)
      : input_(std::move(input)), memory_(memory) {
    const auto size = static_cast<std::size_t>(input_->size());
    const Descriptor file = input_->shared();
    void* at = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) return;
    mapped_ = std::shared_ptr<const std::uint8_t>(static_cast<const std::uint8_t*>(at), [size](const std::uint8_t* p) {
      munmap(const_cast<std::uint8_t*>(p), size);
    });
  }
  bool supports_zero_copy() const override { return mapped_ != nullptr; }

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
    if (mapped_ != nullptr && there > 0)
      return std::shared_ptr<arrow::Buffer>(std::make_shared<MappedBuffer>(mapped_, at, there));
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
  /// Keeps the file mapped.
  class MappedBuffer final : public arrow::Buffer {
   public:
    MappedBuffer(std::shared_ptr<const std::uint8_t> file, std::int64_t at, std::int64_t bytes)
        : Buffer(file.get() + at, bytes), file_(std::move(file)) {}

   private:
    std::shared_ptr<const std::uint8_t> file_;
  };

  std::shared_ptr<const InputBytes> input_;
  arrow::MemoryPool* memory_;
  std::shared_ptr<const std::uint8_t> mapped_;  // null: read call by call
  std::int64_t at_ = 0;
  bool closed_ = false;
};

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

std::unique_ptr<ArrowFile> open_arrow_file(InputBytes input) {
  const std::string name = input.name(), begin = input.begin(4);
  return without_foreign_exceptions(
      name, [&] { return begin == "PAR1" ? open_parquet_file(std::move(input)) : open_ipc_file(std::move(input)); });
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
    const auto file = bytes();
    // Pages are read when they are needed, not whole row groups.
    if (!file->supports_zero_copy()) properties.enable_buffered_stream();
    parquet::ArrowReaderProperties settings(false);
    settings.set_batch_size(kBatchRows);
    settings.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    require(builder.Open(file, properties));
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
  std::optional<Conversion> read_lists(const Place& place, MatrixView<float> out, Missing missing) override {
    return read_lists_as(place, out, missing);
  }
  std::optional<Conversion> read_lists(const Place& place, MatrixView<double> out, Missing missing) override {
    return read_lists_as(place, out, missing);
  }

 private:
  template <class T>
  std::optional<Conversion> read_lists_as(const Place& place, MatrixView<T> out, Missing missing) {
    const std::vector<int> columns = leaves({place.field});
    if (columns.size() != 1) return std::nullopt;
    switch (metadata_->schema()->Column(columns[0])->physical_type()) {
      case parquet::Type::FLOAT:
        return read_values<parquet::FloatReader, float>(place, columns[0], out, missing);
      case parquet::Type::DOUBLE:
        return read_values<parquet::DoubleReader, double>(place, columns[0], out, missing);
      default:
        return std::nullopt;
    }
  }

  /// The values of lists that all have the length of the rows and none of which are missing: their levels, which say
  /// where a list begins and what is missing, are compared with those of such lists. Pages before the first row are
  /// passed over by their heads.
  template <class Reader, class Stored, class T>
  std::optional<Conversion> read_values(const Place& place, int column, MatrixView<T> out, Missing missing) {
    constexpr std::int64_t kBatch = std::int64_t{1} << 14;
    const parquet::ColumnDescriptor& form = *metadata_->schema()->Column(column);
    if (form.max_repetition_level() != 1) return std::nullopt;
    const auto before = place.row * out.columns;
    std::int64_t passed = 0;
    bool is_there = false;
    auto pages = reader_->parquet_reader()->RowGroup(static_cast<int>(place.part))->GetColumnPageReader(column);
    pages->set_data_page_filter([&](const parquet::DataPageStats& page) {
      is_there = is_there || page.num_values <= 0 || passed + page.num_values > before;
      if (!is_there) passed += page.num_values;
      return !is_there;
    });
    const auto any = parquet::ColumnReader::Make(&form, std::move(pages), &memory());
    auto& values = static_cast<Reader&>(*any);
    std::vector<std::int16_t> defined(kBatch), repeated(kBatch);
    std::vector<Stored> other(std::is_same_v<Stored, T> ? 0 : kBatch);
    Conversion done;
    // The rows before the first one in its page are read and forgotten, in the place of the first ones.
    const std::int64_t all = out.rows * out.columns;
    std::int64_t at = 0, behind = 0;
    if (!values.HasNext()) return std::nullopt;
    for (std::int64_t forget = before - passed; forget > 0 || at < all;) {
      if (!values.HasNext()) return std::nullopt;
      const std::int64_t wanted = std::min({kBatch, forget > 0 ? forget : all - at, all});
      Stored* to = nullptr;
      if constexpr (std::is_same_v<Stored, T>) {
        to = out.data + at;
      } else {
        to = other.data();
      }
      std::int64_t read = 0;
      const std::int64_t levels = values.ReadBatch(wanted, defined.data(), repeated.data(), to, &read);
      if (levels <= 0 || read != levels) return std::nullopt;
      int wrong = 0;
      for (std::int64_t i = 0; i < levels; ++i)
        wrong |= defined[static_cast<std::size_t>(i)] ^ form.max_definition_level();
      // Repetition levels are 1, but for the first number of each list.
      const std::int64_t in_list = (passed + behind) % out.columns;
      std::int64_t others = 0, begun = 0;
      for (std::int64_t i = 0; i < levels; ++i) others += repeated[static_cast<std::size_t>(i)];
      for (std::int64_t i = in_list == 0 ? 0 : out.columns - in_list; i < levels; i += out.columns, ++begun) {
        wrong |= repeated[static_cast<std::size_t>(i)];
      }
      if (others != levels - begun) return std::nullopt;
      if (wrong != 0) return std::nullopt;
      behind += levels;
      if (forget > 0) {
        forget -= levels;
        continue;
      }
      Conversion part = convert({sizeof(Stored) == 4 ? Number::float32 : Number::float64, false},
                                reinterpret_cast<const std::byte*>(to), levels, out.data + at, missing);
      part.changed += done.changed;
      if (part.refused >= 0) part.refused += at;
      done = std::move(part);
      if (done.refused >= 0) return done;
      at += levels;
    }
    return done;
  }

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
