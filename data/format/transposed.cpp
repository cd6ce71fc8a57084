// Holds all values of the inner source, and copies its columns into rows; or writes its rows to a scratch file, a few
// at a time as columns.
#include "data/format/transposed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "data/io/byte_store.h"
#include "data/io/memory_limit.h"
#include "data/io/scratch_file.h"

namespace kith::data {
namespace {

/// out(i, j) = in(j, first + i)
template <class T>
void copy_transposed(MatrixView<const T> in, std::int64_t first, MatrixView<T> out) {
  constexpr std::int64_t kRows = 16;  // rows written at a time, so that their cache lines stay in use
  for (std::int64_t begin = 0; begin < out.rows; begin += kRows) {
    const std::int64_t end = std::min(begin + kRows, out.rows);
    for (std::int64_t j = 0; j < out.columns; ++j) {
      for (std::int64_t i = begin; i < end; ++i) out(i, j) = in(j, first + i);
    }
  }
}

class Transposed final : public PointSource {
 public:
  Transposed(std::unique_ptr<PointSource> inner, std::string scratch)
      : inner_(std::move(inner)), scratch_(std::move(scratch)), is_held_(stays_in_memory(value_bytes(), scratch_)) {
    const std::int64_t row_bytes = columns_bytes(1);
    group_ = std::clamp<std::int64_t>(memory_limit() / 16 / std::max<std::int64_t>(row_bytes, 1), 1, inner_->rows());
  }

  std::unique_ptr<PointSource> take_inner() { return std::move(inner_); }

  std::string name() const override { return inner_->name(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->columns(); }
  std::int64_t columns() const override { return inner_->rows(); }
  ValueClass value_class() const override { return inner_->value_class(); }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t held_bytes() const override {
    return inner_->held_bytes() + (is_held_ ? value_bytes() : 2 * columns_bytes(group_));
  }
  std::string only_in_order() const override {
    return is_held_ ? "a matrix whose columns are the points is held in memory" : "";
  }
  Number held_as() const override { return inner_->held_as(); }
  std::string watched_file() const override { return is_held_ ? inner_->watched_file() : ""; }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  SkippedLines skipped_lines() const override { return inner_->skipped_lines(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  void read(std::int64_t first, MatrixView<float> out) override {
    if (held_as() == Number::uint8) return read_converted<std::uint8_t>(first, out);
    if (held_as() == Number::int8) return read_converted<std::int8_t>(first, out);
    read_as(first, out);
  }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }
  bool read_integers(std::int64_t first, MatrixView<std::int64_t> out) override {
    Matrix<std::int64_t> all(inner_->rows(), inner_->columns());
    if (!inner_->read_integers(0, all.view())) return false;
    copy_transposed<std::int64_t>(all.view(), first, out);
    return true;
  }

 private:
  std::int64_t columns_bytes(std::int64_t count) const {
    return checked_product(checked_product(count, inner_->columns(), inner_->name().c_str()), size_of(held_as()),
                           inner_->name().c_str());
  }
  std::int64_t value_bytes() const { return columns_bytes(inner_->rows()); }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    if (!is_held_) return read_stored(first, out);
    if (!held_) held_ = read_all(*inner_);
    copy_transposed<T>(std::get<Matrix<T>>(*held_).view(), first, out);
  }

  template <class Byte>
  void read_converted(std::int64_t first, MatrixView<float> out) {
    check_request(*this, first, out);
    Matrix<Byte> bytes(out.rows, out.columns);
    read_as(first, bytes.view());
    for (std::int64_t i = 0; i < out.rows; ++i) std::ranges::copy(bytes.row(i), out.row(i).begin());
  }

  /// Writes group_ columns of the points at a time, as a matrix of these columns.
  template <class T>
  void store() {
    file_.emplace(scratch_);
    file_->require_space(value_bytes());
    Matrix<T> in(group_, rows()), out(rows(), group_);
    for (std::int64_t j = 0; j < columns(); j += group_) {
      const std::int64_t width = std::min(group_, columns() - j);
      inner_->read(j, in.view().middle(0, width));
      const MatrixView<T> columns_together{out.data(), rows(), width};
      copy_transposed<T>(in.view(), 0, columns_together);
      file_->write(columns_bytes(j), out.data(), columns_bytes(width));
    }
  }

  template <class T>
  void read_stored(std::int64_t first, MatrixView<T> out) {
    if (!file_) store<T>();
    Matrix<T> part(out.rows, std::min(group_, columns()));
    for (std::int64_t j = 0; j < columns(); j += group_) {
      const std::int64_t width = std::min(group_, columns() - j);
      const auto row_bytes = width * static_cast<std::int64_t>(sizeof(T));
      file_->read(columns_bytes(j) + first * row_bytes, out.rows * row_bytes, part.data());
      for (std::int64_t i = 0; i < out.rows; ++i) std::copy_n(part.data() + i * width, width, out.row(i).data() + j);
    }
  }

  std::unique_ptr<PointSource> inner_;
  std::string scratch_;
  bool is_held_;            // else in the file
  std::int64_t group_ = 1;  // columns of the points that are written at a time
  std::optional<PointsMatrix> held_;
  std::optional<ScratchFile> file_;
};

}  // namespace

std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source, const std::string& scratch) {
  if (auto* twice = dynamic_cast<Transposed*>(source.get())) return twice->take_inner();
  return std::make_unique<Transposed>(std::move(source), scratch);
}

}  // namespace kith::data
