// Arrow's own files (IPC, Feather version 2): record batches, decoded as a whole.
#include <arrow/ipc/reader.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "data/arrow/arrow_file.h"

namespace kith::data {
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

}  // namespace kith::data
