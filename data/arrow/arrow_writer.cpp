// Brings values into arrays of Arrow, and writes them to a stream in memory.
#include "data/arrow/arrow_file.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/util/bit_util.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/io/packed.h"

namespace kith::data {
namespace {

/// Keeps what is written until it is taken.
class TakenBytes final : public arrow::io::OutputStream {
 public:
  TakenBytes() { set_mode(arrow::io::FileMode::WRITE); }
  using OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t count) override {
    bytes_.append(static_cast<const char*>(data), static_cast<std::size_t>(count));
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return taken_ + std::ssize(bytes_); }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  std::string take() {
    taken_ += std::ssize(bytes_);
    return std::exchange(bytes_, {});
  }

 private:
  std::string bytes_;
  std::int64_t taken_ = 0;
  bool closed_ = false;
};

struct StoredType {
  std::shared_ptr<arrow::DataType> type;
  std::int64_t bytes;  // 0: texts
};

StoredType stored_type(ArrowType type) {
  const StoredType types[] = {{arrow::int32(), 4},   {arrow::int64(), 8},   {arrow::float32(), 4},
                              {arrow::float64(), 8}, {arrow::boolean(), 1}, {arrow::utf8(), 0}};
  static_assert(std::size(types) == static_cast<std::size_t>(last_value(ArrowType{})) + 1);
  return types[static_cast<std::size_t>(type)];
}

std::shared_ptr<arrow::Field> field_of(const ArrowField& field) {
  constexpr std::int64_t kMostValues = 1 << 30;
  if (field.length < 0 || field.length > kMostValues) throw UnpackError();
  const auto type = stored_type(field.type).type;
  if (field.length == 0) return arrow::field(field.name, type);
  return arrow::field(field.name,
                      arrow::fixed_size_list(arrow::field("item", type, false), static_cast<int>(field.length)));
}

/// Throws unless Arrow succeeded.
void require(const std::string& name, const arrow::Status& status) {
  if (!status.ok()) throw Error(ExitCode::output, name + ": Arrow cannot write it: " + status.message());
}

std::shared_ptr<arrow::Buffer> bitmap_of(const std::uint8_t* flags, std::int64_t count) {
  std::string bits(static_cast<std::size_t>((count + 7) / 8), '\0');
  for (std::int64_t i = 0; i < count; ++i) {
    if (flags[i] != 0) arrow::bit_util::SetBit(reinterpret_cast<std::uint8_t*>(bits.data()), i);
  }
  return arrow::Buffer::FromString(std::move(bits));
}

std::shared_ptr<arrow::Array> array_of(const ArrowTableForm& form, const ArrowField& field, std::int64_t rows,
                                       ArrowColumnValues values) {
  const StoredType stored = stored_type(field.type);
  const std::int64_t count = rows * std::max<std::int64_t>(field.length, 1);
  if (!values.is_set.empty() && std::ssize(values.is_set) != rows) throw UnpackError();
  if (stored.bytes == 0) {
    if (std::ssize(values.texts) != rows || field.length != 0) throw UnpackError();
    arrow::StringBuilder builder;
    for (std::size_t i = 0; i < values.texts.size(); ++i) {
      const bool is_set = values.is_set.empty() || values.is_set[i] != 0;
      require(form.name, is_set ? builder.Append(values.texts[i]) : builder.AppendNull());
    }
    std::shared_ptr<arrow::Array> array;
    require(form.name, builder.Finish(&array));
    return array;
  }
  if (std::ssize(values.bytes) != count * stored.bytes) throw UnpackError();
  const auto buffer = field.type == ArrowType::flag
                          ? bitmap_of(reinterpret_cast<const std::uint8_t*>(values.bytes.data()), count)
                          : arrow::Buffer::FromString(std::move(values.bytes));
  const auto is_set = values.is_set.empty() ? nullptr : bitmap_of(values.is_set.data(), rows);
  if (field.length == 0) return arrow::MakeArray(arrow::ArrayData::Make(stored.type, rows, {is_set, buffer}));
  const auto items = arrow::ArrayData::Make(stored.type, count, {nullptr, buffer});
  return arrow::MakeArray(arrow::ArrayData::Make(field_of(field)->type(), rows, {is_set}, {items}));
}

}  // namespace

struct ArrowWriter::State {
  ArrowTableForm form;
  std::shared_ptr<ArrowFile> input;  // null: none
  std::int64_t part = 0;             // of the input: the next one
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<TakenBytes> out = std::make_shared<TakenBytes>();
  std::unique_ptr<parquet::arrow::FileWriter> parquet;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> batches;

  template <class T>
  T require_value(arrow::Result<T> result) const {
    require(form.name, result.status());
    return std::move(result).ValueUnsafe();
  }

  void open_parquet() {
    parquet::WriterProperties::Builder properties;
    properties.created_by("kith")->compression(arrow::Compression::SNAPPY);
    for (const ArrowField& field : form.fields) {  // numbers that hardly repeat are not worth a dictionary
      if (field.type != ArrowType::float32 && field.type != ArrowType::float64) continue;
      const std::string path = field.length == 0 ? field.name : field.name + ".list.element";
      properties.disable_dictionary(path)->compression(path, arrow::Compression::UNCOMPRESSED);
    }
    const auto settings = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    parquet = require_value(
        parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), out, properties.build(), settings));
  }

  /// The columns of the next part of the input.
  std::vector<std::shared_ptr<arrow::ChunkedArray>> input_columns(std::int64_t rows) {
    std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
    if (input == nullptr) return columns;
    while (part < input->parts() && input->start(part) == input->start(part + 1)) ++part;  // parts without rows
    if (part >= input->parts() || rows != input->start(part + 1) - input->start(part)) throw UnpackError();
    std::vector<int> fields;
    for (int i = 0; i < input->schema().num_fields(); ++i) fields.push_back(i);
    std::vector<arrow::ArrayVector> chunks(fields.size());
    const ArrowBatches next = input->read(part++, fields);
    while (const auto batch = next()) {
      for (std::size_t i = 0; i < fields.size(); ++i) chunks[i].push_back(batch->column(static_cast<int>(i)));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      columns.push_back(
          require_value(arrow::ChunkedArray::Make(chunks[i], schema->field(static_cast<int>(i))->type())));
      if (columns.back()->length() != rows) input->refuse("a part lacks rows");
    }
    return columns;
  }
};

ArrowWriter::ArrowWriter(const ArrowTableForm& form, std::shared_ptr<ArrowFile> input)
    : state_(std::make_unique<State>()) {
  state_->form = form;
  state_->input = std::move(input);
  arrow::FieldVector fields;
  std::shared_ptr<const arrow::KeyValueMetadata> metadata;
  if (state_->input != nullptr) {
    fields = state_->input->schema().fields();
    metadata = state_->input->schema().metadata();
  }
  for (const ArrowField& field : form.fields) fields.push_back(field_of(field));
  state_->schema = arrow::schema(fields, metadata);
  if (form.is_parquet) {
    state_->open_parquet();
    return;
  }
  state_->batches = state_->require_value(arrow::ipc::MakeFileWriter(state_->out, state_->schema));
}

ArrowWriter::~ArrowWriter() = default;

void ArrowWriter::append(std::int64_t rows, std::vector<ArrowColumnValues> columns) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
  if (rows < 0 || rows > kMostRows || columns.size() != state_->form.fields.size()) throw UnpackError();
  without_foreign_exceptions(state_->form.name, [&] {
    auto all = state_->input_columns(rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      all.push_back(std::make_shared<arrow::ChunkedArray>(
          array_of(state_->form, state_->form.fields[i], rows, std::move(columns[i]))));
    }
    const auto table = arrow::Table::Make(state_->schema, all, rows);
    require(state_->form.name, state_->parquet ? state_->parquet->WriteTable(*table, std::max<std::int64_t>(rows, 1))
                                               : state_->batches->WriteTable(*table, std::max<std::int64_t>(rows, 1)));
  });
}

void ArrowWriter::finish() {
  require(state_->form.name, state_->parquet ? state_->parquet->Close() : state_->batches->Close());
}

std::string ArrowWriter::take_bytes() { return state_->out->take(); }

}  // namespace kith::data
