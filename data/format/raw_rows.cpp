// Reads plain numbers in blocks with several threads, and converts each block while it is in the cache.
#include "data/format/raw_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "data/io/input_error.h"
#include "data/io/numbers.h"

namespace kith::data {
namespace {

constexpr std::int64_t kLengthBytes = 4;                           // with rows_with_length
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;      // fits into the second-level cache
constexpr std::int64_t kColumnBlockBytes = std::int64_t{8} << 20;  // with columns_together: long reads of each column

/// Transposes `rows` x `columns` elements: element (i, j) is at j * rows + i of `in`.
template <class Word>
void join_columns(const std::byte* in, std::int64_t rows, std::int64_t columns, std::byte* out) {
  constexpr std::int64_t kRows = 16;  // rows written at a time, so that their cache lines stay in use
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const std::int64_t end = std::min(begin + kRows, rows);
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::memcpy(out + (i * columns + j) * kSize, in + (j * rows + i) * kSize, sizeof(Word));
      }
    }
  }
}

class RawSource final : public PointSource {
 public:
  RawSource(InputBytes input, RawTable table, const ReadOptions& options)
      : input_(std::move(input)),
        table_(std::move(table)),
        class_(class_for(natural_class_of(table_.element.number), options.precision)),
        element_bytes_(size_of(table_.element.number)),
        keeps_bytes_(options.form == RowForm::bits && table_.element.number == Number::uint8 && table_.fields.empty() &&
                     class_ == ValueClass::f32),
        threads_(options.threads),
        missing_(options.missing) {}

  std::string name() const override { return table_.name; }
  std::string element_type() const override {
    return table_.type.empty() ? name_of(table_.element.number) : table_.type;
  }
  std::int64_t rows() const override { return table_.rows; }
  std::int64_t columns() const override { return table_.columns; }
  ValueClass value_class() const override { return class_; }
  std::int64_t file_bytes() const override { return table_.bytes(); }
  std::int64_t held_bytes() const override { return input_.held_bytes(); }
  std::string only_in_order() const override {
    if (held_bytes() > 0) return "a compressed array is held in memory";
    return table_.order == RawTable::columns_together ? "an array in column order is slow to read by rows" : "";
  }
  void bypass_cache_from(std::int64_t row) override {
    if (table_.order != RawTable::columns_together) input_.bypass_cache_from(table_.at + row * table_.row_bytes());
  }
  bool has_chosen_columns() const override { return !table_.fields.empty(); }
  std::vector<std::string> column_names() const override {
    std::vector<std::string> names;
    for (const RecordField& field : table_.fields) names.push_back(field.name);
    return names;
  }
  bool is_shared() const override { return only_in_order().empty(); }
  std::int64_t changed_values() const override { return changed_; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  Number held_as() const override { return keeps_bytes_ ? Number::uint8 : PointSource::held_as(); }
  bool read_integers(std::int64_t first, MatrixView<std::int64_t> out) override {
    auto* raw = reinterpret_cast<std::byte*>(out.data);
    const bool plain = table_.fields.empty() && table_.order == RawTable::rows_together;
    if (!plain || !copy_integers(table_.element, raw, 0, out.data)) return false;
    verify();
    input_.read(table_.at + first * table_.row_bytes(), out.rows * table_.row_bytes(), raw);
    input_.check_unchanged();
    return copy_integers(table_.element, raw, out.size(), out.data);
  }

 private:
  void verify() {
    std::call_once(verified_, [this] {
      if (table_.verify) table_.verify(input_);
    });
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    const std::int64_t block_bytes = table_.order == RawTable::columns_together ? kColumnBlockBytes : kBlockBytes;
    const std::int64_t block_rows = std::max<std::int64_t>(1, block_bytes / table_.row_bytes());
    try {
      verify();
      read_in_blocks((out.rows + block_rows - 1) / block_rows, threads_,
                     [&](std::int64_t block, Matrix<std::byte>& buffer) {
                       const std::int64_t begin = block * block_rows;
                       read_block(first + begin, out.middle(begin, std::min(block_rows, out.rows - begin)), buffer);
                     });
    } catch (const Error&) {
      input_.check_unchanged();  // a change of the file explains the error better
      throw;
    }
    input_.check_unchanged();
  }

  template <class T>
  void read_block(std::int64_t first, MatrixView<T> out, Matrix<std::byte>& buffer) {
    const bool plain = table_.order == RawTable::rows_together;
    const bool in_place = plain && table_.fields.empty() && element_bytes_ == sizeof(T);
    const std::int64_t needed = in_place ? 0 : (plain ? 1 : 2) * out.rows * table_.row_bytes();
    if (buffer.columns() < needed) buffer = Matrix<std::byte>(1, needed);
    std::byte* raw = in_place ? reinterpret_cast<std::byte*>(out.data) : buffer.data();
    if (plain) {
      input_.read(table_.at + first * table_.row_bytes(), out.rows * table_.row_bytes(), raw);
    } else if (table_.order == RawTable::columns_together) {
      read_columns(first, out.rows, raw + out.rows * table_.row_bytes(), raw);
    } else {
      read_with_length(first, out.rows, raw);
    }
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (!in_place) std::memcpy(out.data, raw, static_cast<std::size_t>(out.size()));
      return;
    } else {
      convert_block(first, raw, out);
    }
  }

  template <class T>
  void convert_block(std::int64_t first, const std::byte* raw, MatrixView<T> out) {
    const Conversion conversion =
        table_.fields.empty() ? convert(table_.element, raw, out.size(), out.data, missing_)
                              : convert_records(table_.fields, table_.record_bytes, raw, out.rows, out.data, missing_);
    changed_ += require_converted(conversion, name(), first, columns());
  }

  void read_columns(std::int64_t first, std::int64_t rows, std::byte* buffer, std::byte* out) const {
    const std::int64_t column_bytes = rows * element_bytes_;
    for (std::int64_t j = 0; j < columns(); ++j) {
      input_.read(table_.at + (j * table_.rows + first) * element_bytes_, column_bytes, buffer + j * column_bytes);
    }
    if (element_bytes_ == 1) join_columns<std::uint8_t>(buffer, rows, columns(), out);
    if (element_bytes_ == 2) join_columns<std::uint16_t>(buffer, rows, columns(), out);
    if (element_bytes_ == 4) join_columns<std::uint32_t>(buffer, rows, columns(), out);
    if (element_bytes_ == 8) join_columns<std::uint64_t>(buffer, rows, columns(), out);
  }

  void read_with_length(std::int64_t first, std::int64_t rows, std::byte* out) const {
    const std::int64_t row_bytes = table_.row_bytes();
    input_.read(table_.at + first * row_bytes, rows * row_bytes, out);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::byte* record = out + i * row_bytes;
      const std::uint64_t length = little_endian(record, kLengthBytes);
      if (length != static_cast<std::uint64_t>(columns())) {
        refuse_input(
            fmt::format("{}: record {} (counted from 1)", name(), first + i + 1),
            fmt::format("expected {} values, as in record 1, found a length of {}; all rows must have the same "
                        "length",
                        columns(), static_cast<std::int32_t>(length)));
      }
      std::memmove(out + i * (row_bytes - kLengthBytes), record + kLengthBytes,
                   static_cast<std::size_t>(row_bytes - kLengthBytes));
    }
  }

  InputBytes input_;
  RawTable table_;
  ValueClass class_;
  std::int64_t element_bytes_;
  bool keeps_bytes_;  // which hold bits
  int threads_;
  Missing missing_;
  std::once_flag verified_;
  std::atomic<std::int64_t> changed_ = 0;
};

}  // namespace

std::int64_t RawTable::row_bytes() const {
  if (!fields.empty()) return record_bytes;
  return columns * size_of(element.number) + (order == rows_with_length ? kLengthBytes : 0);
}

std::int64_t RawTable::bytes() const {
  const std::int64_t values =
      fields.empty() ? checked_product(columns, size_of(element.number), name.c_str()) : record_bytes;
  const std::int64_t lengths = order == rows_with_length ? checked_product(rows, kLengthBytes, name.c_str()) : 0;
  return checked_product(rows, values, name.c_str()) + lengths;
}

std::unique_ptr<PointSource> open_raw(InputBytes input, const RawTable& table, const ReadOptions& options) {
  return std::make_unique<RawSource>(std::move(input), table, options);
}

}  // namespace kith::data
