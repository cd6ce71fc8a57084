// Packs columns of 0 and 1, or checks bytes that are packed.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/numbers/distance.h"
#include "core/numbers/pack_bits.h"
#include "data/format/filters.h"
#include "data/io/input_bytes.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

constexpr std::int64_t kOfByte = 8;

class BitRows final : public SourceFilter {
 public:
  BitRows(std::unique_ptr<PointSource> inner, const ReadOptions& options)
      : SourceFilter(std::move(inner)),
        is_packed_(inner_->element_type() == name_of(Number::uint8) && inner_->held_as() == Number::uint8 &&
                   options.bits != inner_->columns()),
        bits_(options.bits > 0 ? options.bits : inner_->columns() * (is_packed_ ? kOfByte : 1)),
        threads_(options.threads) {
    const std::int64_t most = inner_->columns() * (is_packed_ ? kOfByte : 1);
    const std::int64_t least = is_packed_ ? most - kOfByte + 1 : most;
    if (bits_ < least || bits_ > most) {
      throw Error(
          ExitCode::usage,
          fmt::format("--bits {}: expected {}, since {} has {} {} a row, found {}; give --bits {}, or leave it "
                      "out",
                      bits_, is_packed_ ? fmt::format("{} to {}", least, most) : fmt::format("{}", most), name(),
                      inner_->columns(), is_packed_ ? "bytes of eight bits" : "columns of one bit", bits_, most));
    }
    if (bits_ <= kMostBits) return;
    throw Error(ExitCode::data, fmt::format("{}: expected at most {} bits a row, found {}; choose columns with "
                                            "--columns",
                                            name(), kMostBits, bits_));
  }

  std::int64_t columns() const override { return (bits_ + kOfByte - 1) / kOfByte; }
  ValueClass value_class() const override { return ValueClass::f32; }
  Number held_as() const override { return Number::uint8; }
  RowBits row_bits() const override { return {bits_, is_packed_}; }
  std::int64_t held_bytes() const override { return inner_->held_bytes() + (is_packed_ ? 0 : kPartBytes); }
  void read(std::int64_t, MatrixView<float>) override { refuse_numbers(); }
  void read(std::int64_t, MatrixView<double>) override { refuse_numbers(); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override {
    check_request(*this, first, out);
    if (is_packed_) {
      inner_->read(first, out);
      return check_padding(first, out);
    }
    switch (inner_->held_as()) {
      case Number::uint8:
        return pack<std::uint8_t>(first, out);
      case Number::int8:
        return pack<std::int8_t>(first, out);
      case Number::float64:
        return pack<double>(first, out);
      default:
        return pack<float>(first, out);
    }
  }

 private:
  static constexpr std::int64_t kPartBytes = std::int64_t{4} << 20;  // of columns that are read at a time

  [[noreturn]] void refuse_numbers() const {
    throw Error(ExitCode::internal, name() + ": cannot read numbers: the rows are held as bits");
  }

  void check_padding(std::int64_t first, MatrixView<const std::uint8_t> rows) const {
    const unsigned padding = (1U << (columns() * kOfByte - bits_)) - 1U;
    for (std::int64_t i = 0; padding != 0 && i < rows.rows; ++i) {
      const unsigned last = rows(i, rows.columns - 1);
      if ((last & padding) == 0) continue;
      refuse_value(name(),
                   fmt::format("row {}, byte {} (counted from 1): expected 0 in the bits behind the {} of a row "
                               "(--bits {}), found a byte of {}; pack the bits as numpy.packbits does, the "
                               "first in the most significant place",
                               first + i + 1, rows.columns, bits_, bits_, last));
    }
  }

  template <class T>
  void pack(std::int64_t first, MatrixView<std::uint8_t> out) {
    const std::int64_t row_bytes = bits_ * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t part = std::clamp<std::int64_t>(kPartBytes / row_bytes, 1, std::max<std::int64_t>(out.rows, 1));
    Matrix<T> columns(part, bits_);
    for (std::int64_t begin = 0; begin < out.rows; begin += part) {
      const MatrixView<T> some = columns.view().middle(0, std::min(part, out.rows - begin));
      inner_->read(first + begin, some);
      const std::int64_t block = std::max<std::int64_t>(some.rows / (4 * threads_), 1);
      read_in_blocks((some.rows + block - 1) / block, threads_, [&](std::int64_t number, Matrix<std::byte>&) {
        for (std::int64_t i = number * block; i < std::min((number + 1) * block, some.rows); ++i) {
          const std::span<const T> values = some.row(i);
          const std::size_t packed = pack_bits(values, out.row(begin + i));
          if (packed < values.size()) refuse_column(static_cast<double>(values[packed]), first + begin + i, packed);
        }
      });
    }
  }

  [[noreturn]] void refuse_column(double value, std::int64_t row, std::size_t column) const {
    const std::vector<std::string> names = column_names();
    const std::string named = column < names.size() ? fmt::format(" ({})", names[column]) : "";
    refuse_value(name(), fmt::format("row {}, column {}{} (counted from 1): expected a bit, 0 or 1, found {}; choose "
                                     "columns of bits with --columns, or compare numbers with --metric manhattan",
                                     row + 1, column + 1, named, value));
  }

  bool is_packed_;
  std::int64_t bits_;
  int threads_;
};

}  // namespace

std::unique_ptr<PointSource> as_bits(std::unique_ptr<PointSource> source, const ReadOptions& options) {
  return std::make_unique<BitRows>(std::move(source), options);
}

}  // namespace kith::data
