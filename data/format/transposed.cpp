// Holds all values of the inner source, and copies its columns into rows.
#include "data/format/transposed.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kith::data {
namespace {

class Transposed final : public PointSource {
 public:
  explicit Transposed(std::unique_ptr<PointSource> inner) : inner_(std::move(inner)) {}

  std::string name() const override { return inner_->name(); }
  std::string element_type() const override { return inner_->element_type(); }
  std::int64_t rows() const override { return inner_->columns(); }
  std::int64_t columns() const override { return inner_->rows(); }
  ValueClass value_class() const override { return inner_->value_class(); }
  std::int64_t file_bytes() const override { return inner_->file_bytes(); }
  std::int64_t held_bytes() const override {
    const std::int64_t values = checked_product(inner_->rows(), inner_->columns(), inner_->name().c_str());
    return inner_->held_bytes() + checked_product(values, size_of(held_as()), inner_->name().c_str());
  }
  Number held_as() const override { return inner_->held_as(); }
  std::int64_t changed_values() const override { return inner_->changed_values(); }
  SkippedLines skipped_lines() const override { return inner_->skipped_lines(); }
  std::vector<std::string> remarks() const override { return inner_->remarks(); }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_as(first, out); }

 private:
  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    if (!held_) held_ = read_all(*inner_);
    const auto& values = std::get<Matrix<T>>(*held_);
    constexpr std::int64_t kRows = 16;  // rows written at a time, so that their cache lines stay in use
    for (std::int64_t begin = 0; begin < out.rows; begin += kRows) {
      const std::int64_t end = std::min(begin + kRows, out.rows);
      for (std::int64_t j = 0; j < out.columns; ++j) {
        for (std::int64_t i = begin; i < end; ++i) out(i, j) = values(j, first + i);
      }
    }
  }

  std::unique_ptr<PointSource> inner_;
  std::optional<PointsMatrix> held_;
};

}  // namespace

std::unique_ptr<PointSource> transposed(std::unique_ptr<PointSource> source) {
  return std::make_unique<Transposed>(std::move(source));
}

}  // namespace kith::data
