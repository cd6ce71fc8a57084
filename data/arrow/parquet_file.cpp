// Parquet files: row groups, decoded page by page.
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <mutex>

#include "data/arrow/arrow_file.h"

namespace kith::data {
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
