// What both formats share: bytes and memory for Arrow, and the errors that it reports.
#include "data/arrow/arrow_file.h"

#include <arrow/array.h>
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
#include <mutex>
#include <optional>

#include "data/arrow/list_pages.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// Lets Arrow read an input of kith. Where the system can map the file into memory, buffers of Arrow are parts of it:
/// an Arrow file and uncompressed pages of Parquet are not copied. If somebody makes the file shorter meanwhile, that
/// ends this process, and kith says that the file has changed.
class InputFile final : public arrow::io::RandomAccessFile {
 public:
  InputFile(std::shared_ptr<const InputBytes> input, std::shared_ptr<const std::uint8_t> mapped,
            arrow::MemoryPool* memory)
      : input_(std::move(input)), memory_(memory), mapped_(std::move(mapped)) {}
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

ArrowFile::ArrowFile(InputBytes input) : input_(std::make_shared<InputBytes>(std::move(input))) {
  const auto size = static_cast<std::size_t>(input_->size());
  const Descriptor file = input_->shared();
  void* at = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return;
  mapped_ = std::shared_ptr<const std::uint8_t>(static_cast<const std::uint8_t*>(at), [size](const std::uint8_t* p) {
    munmap(const_cast<std::uint8_t*>(p), size);
  });
}

std::shared_ptr<arrow::io::RandomAccessFile> ArrowFile::bytes() {
  return std::make_shared<InputFile>(input_, mapped_, &memory());
}

std::int64_t ArrowFile::place_of(const std::uint8_t* bytes, std::int64_t count) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped_.get()), at = reinterpret_cast<std::uintptr_t>(bytes);
  if (mapped_ == nullptr || at < begin) return -1;
  const std::uintptr_t place = at - begin;
  const auto size = static_cast<std::uintptr_t>(input_->size());
  return place <= size && static_cast<std::uintptr_t>(count) <= size - place ? static_cast<std::int64_t>(place) : -1;
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

  std::vector<ArrowStretch> stretches(const Lists& lists) override {
    const auto batch = read(lists.part, {lists.field})();
    if (batch->column(0)->type_id() != arrow::Type::FIXED_SIZE_LIST || batch->column(0)->null_count() > 0) return {};
    const auto& array = static_cast<const arrow::FixedSizeListArray&>(*batch->column(0));
    const arrow::Array& numbers = *array.values();
    const std::int64_t size = numbers.type_id() == arrow::Type::FLOAT    ? 4
                              : numbers.type_id() == arrow::Type::DOUBLE ? 8
                                                                         : 0;
    const std::int64_t first = array.value_offset(0), count = array.length() * lists.length;
    if (size == 0 || array.list_type()->list_size() != lists.length || numbers.null_count() > 0) return {};
    if (first + count > numbers.length()) return {};
    const std::int64_t at =
        place_of(numbers.data()->buffers[1]->data() + (numbers.offset() + first) * size, count * size);
    return at < 0 ? std::vector<ArrowStretch>() : std::vector<ArrowStretch>{{0, count, at}};
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
      const auto found = std::ranges::find_if(idle_, [&](const auto& entry) { return entry.first == fields; });
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
  std::vector<ArrowStretch> stretches(const Lists& lists) override {
    std::vector<ArrowStretch> all;
    const int column = list_column(lists.field);
    if (column < 0) return all;
    const auto group = metadata_->RowGroup(static_cast<int>(lists.part));
    if (group->ColumnChunk(column)->compression() != arrow::Compression::UNCOMPRESSED) {
      const auto pages = page_reader(lists.part, column);
      pages->set_data_page_filter([&all](const parquet::DataPageStats& page) {
        const std::int64_t first = all.empty() ? 0 : all.back().first + all.back().count;
        if (page.num_values > 0) all.push_back({first, page.num_values, -1});
        return true;
      });
      while (pages->NextPage()) {
      }
      return all;
    }
    const std::int64_t bytes = metadata_->schema()->Column(column)->physical_type() == parquet::Type::FLOAT ? 4 : 8;
    for (const auto pages = open_pages(lists); pages->next_page();) {
      all.push_back(pages->stretch());
      if (const auto* numbers = pages->plain_numbers()) all.back().at = place_of(numbers, all.back().count * bytes);
    }
    return all;
  }
  bool copy_numbers(const Lists& lists, std::int64_t first, std::int64_t count, std::byte* out) override {
    auto pages = take_pages(lists, first);
    if (pages == nullptr || !pages->copy(first, count, out)) return false;
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(lists.part, std::move(pages));
    return true;
  }

 private:
  /// The column of the numbers of a field of such lists; -1 if it is none.
  int list_column(int field) const {
    const std::vector<int> columns = leaves({field});
    if (columns.size() != 1) return -1;
    const parquet::ColumnDescriptor& form = *metadata_->schema()->Column(columns[0]);
    const bool is_known = form.physical_type() == parquet::Type::FLOAT || form.physical_type() == parquet::Type::DOUBLE;
    return is_known && form.max_repetition_level() == 1 ? columns[0] : -1;
  }
  std::unique_ptr<parquet::PageReader> page_reader(std::int64_t part, int column) const {
    return reader_->parquet_reader()->RowGroup(static_cast<int>(part))->GetColumnPageReader(column);
  }
  std::unique_ptr<ListPages> open_pages(const Lists& lists) const {
    const int column = list_column(lists.field);
    if (column < 0) return nullptr;
    const parquet::ColumnDescriptor& form = *metadata_->schema()->Column(column);
    auto pages = page_reader(lists.part, column);
    if (form.physical_type() == parquet::Type::FLOAT) {
      return std::make_unique<TypedListPages<parquet::FloatType>>(std::move(pages), form, lists.length, memory());
    }
    return std::make_unique<TypedListPages<parquet::DoubleType>>(std::move(pages), form, lists.length, memory());
  }

  /// Pages that can be read on to this number: those that are nearest to it.
  std::unique_ptr<ListPages> take_pages(const Lists& lists, std::int64_t first) {
    const std::lock_guard lock(mutex_);
    auto best = idle_.end();
    for (auto i = idle_.begin(); i != idle_.end(); ++i) {
      if (i->first != lists.part || i->second->earliest() > first) continue;
      if (best == idle_.end() || i->second->earliest() > best->second->earliest()) best = i;
    }
    if (best == idle_.end()) {
      if (!idle_.empty()) idle_.erase(idle_.begin());  // as many as threads: no more are used again
      return open_pages(lists);
    }
    auto pages = std::move(best->second);
    idle_.erase(best);
    return pages;
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
  std::vector<std::pair<std::int64_t, std::unique_ptr<ListPages>>> idle_;  // of a part; of one field
};

}  // namespace

std::unique_ptr<ArrowFile> open_parquet_file(InputBytes input) {
  return std::make_unique<ParquetFile>(std::move(input));
}

}  // namespace kith::data
