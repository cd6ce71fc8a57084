// Some rows of another source, one after another.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// Rows first .. first + count - 1 of a source, which must outlive it. Messages give rows of the whole source.
class RowRange final : public PointSource {
 public:
  RowRange(PointSource& inner, std::int64_t first, std::int64_t count) : inner_(inner), first_(first), count_(count) {}

  std::string name() const override { return inner_.name(); }
  std::string element_type() const override { return inner_.element_type(); }
  std::int64_t rows() const override { return count_; }
  std::int64_t columns() const override { return inner_.columns(); }
  ValueClass value_class() const override { return inner_.value_class(); }
  std::int64_t file_bytes() const override {
    const double share = static_cast<double>(count_) / static_cast<double>(std::max<std::int64_t>(inner_.rows(), 1));
    return static_cast<std::int64_t>(static_cast<double>(inner_.file_bytes()) * share);
  }
  Number held_as() const override { return inner_.held_as(); }
  void read(std::int64_t first, MatrixView<float> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<std::uint8_t> out) override { read_rows(first, out); }
  void read(std::int64_t first, MatrixView<std::int8_t> out) override { read_rows(first, out); }
  std::int64_t changed_values() const override { return inner_.changed_values(); }
  std::int64_t held_bytes() const override { return inner_.held_bytes(); }
  std::string only_in_order() const override { return inner_.only_in_order(); }
  bool is_compressed() const override { return inner_.is_compressed(); }
  void bypass_cache_from(std::int64_t row) override { inner_.bypass_cache_from(first_ + row); }
  std::string watched_file() const override { return inner_.watched_file(); }
  bool is_shared() const override { return inner_.is_shared(); }
  std::vector<std::string> column_names() const override { return inner_.column_names(); }
  std::vector<std::string> remarks() const override { return inner_.remarks(); }

 private:
  template <class T>
  void read_rows(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    inner_.read(first_ + first, out);
  }

  PointSource& inner_;
  std::int64_t first_, count_;
};

}  // namespace kith::data
