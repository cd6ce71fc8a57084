// Sparse matrices of HDF5 files as dense matrices: reads starts, indices and values, and adds the values to zeros.
#include "data/hdf5/sparse_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "data/format/shape.h"
#include "data/format/transposed.h"
#include "data/hdf5/hdf5_source.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

/// All values of a vector of whole numbers.
std::vector<std::int64_t> read_integers(PointSource& source) {
  const auto values = std::get<Matrix<double>>(read_all(source));
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(values.size()));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double value = values.data()[i];
    if (!(value >= 0.0 && value < 0x1p53 && value == std::floor(value))) {
      refuse_input(
          source.name(),
          fmt::format("damaged: expected whole numbers from 0, found {} at {} (counted from 0); copy or create "
                      "the file again",
                      value, i));
    }
    integers.push_back(static_cast<std::int64_t>(value));
  }
  return integers;
}

/// Compressed rows as a dense matrix.
class SparseRows final : public PointSource {
 public:
  SparseRows(const std::string& file, const SparseGroup& group, const ReadOptions& options)
      : name_(fmt::format("{}:{}", file, group.path)),
        kind_(group.kind),
        by_columns_(group.by_columns),
        rows_(group.by_columns ? group.columns : group.rows),
        columns_(group.by_columns ? group.rows : group.columns) {
    ReadOptions vectors;
    vectors.precision = options.precision;
    vectors.vector_as_column = true;
    vectors.threads = options.threads;
    const auto starts =
        open_hdf5_dataset({file, group.starts}, {.precision = Precision::f64, .vector_as_column = true});
    const auto refuse_starts = [&](const char* problem) {
      refuse_input(name_,
                   fmt::format("damaged: expected {} ascending starts from 0 in {}, found {}{}; copy or create the "
                               "file again",
                               rows_ + 1, group.starts, starts->rows(), problem));
    };
    if (starts->rows() - 1 != rows_ || starts->columns() != 1) refuse_starts("");
    constexpr std::int64_t kBytesOfStart = 2 * sizeof(std::int64_t);  // as read, and as held
    require_memory(capped_product(starts->rows(), kBytesOfStart), name_);
    starts_ = read_integers(*starts);
    if (!std::is_sorted(starts_.begin(), starts_.end())) refuse_starts(" that do not ascend");
    if (starts_.front() != 0) refuse_starts(" from another number");
    precision_ = options.precision;
    if (starts_.back() == 0) return;  // all values are zero
    missing_ = options.missing;
    vectors.missing = Missing::keep;  // read_as() refuses values, with their row and column
    values_ = open_hdf5_dataset({file, group.values}, vectors);
    vectors.missing = Missing::refuse;
    vectors.precision = Precision::f64;
    indices_ = open_hdf5_dataset({file, group.indices}, vectors);
    if (values_->columns() != 1 || indices_->columns() != 1) {
      refuse_input(name_, fmt::format("damaged: expected vectors of values and indices, found matrices of {} and {} "
                                      "columns; copy or create the file again",
                                      values_->columns(), indices_->columns()));
    }
    if (values_->rows() < starts_.back() || indices_->rows() < starts_.back()) {
      refuse_input(name_,
                   fmt::format("damaged: expected {} values and indices, found {} and {}; copy or create the file "
                               "again",
                               starts_.back(), values_->rows(), indices_->rows()));
    }
  }

  std::string name() const override { return name_; }
  std::string element_type() const override {
    return values_ ? fmt::format("{}, {}", values_->element_type(), kind_) : kind_;
  }
  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  ValueClass value_class() const override {
    return values_ ? values_->value_class() : class_for(ValueClass::f32, precision_);
  }
  std::int64_t file_bytes() const override { return values_ ? values_->file_bytes() + indices_->file_bytes() : 0; }
  std::int64_t held_bytes() const override { return 8 * rows_ + 16 * kBlockValues; }
  std::string only_in_order() const override { return "a sparse matrix is made dense while it is read"; }
  std::int64_t changed_values() const override { return values_ ? values_->changed_values() : 0; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  static constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;  // values read at a time

  /// `row` and `column` are those of the compressed matrix; the message gives those of the points.
  [[noreturn]] void refuse_value(std::int64_t row, std::int64_t column, double value) const {
    if (by_columns_) std::swap(row, column);
    data::refuse_value(fmt::format("{}: row {}, column {} (counted from 0)", name_, row, column),
                       fmt::format("expected a finite number, found {}; replace the value or remove the row{}",
                                   std::isnan(value) ? "NaN"
                                   : value > 0       ? "infinity"
                                                     : "-infinity",
                                   missing_ == Missing::offer ? ", or drop all such rows with --nan drop" : ""));
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    std::fill_n(out.data, out.size(), T{0});
    if (out.rows == 0 || !values_) return;
    const std::int64_t* starts = starts_.data() + first;
    Matrix<T> values(std::min(kBlockValues, starts[out.rows] - starts[0] + 1), 1);
    Matrix<double> indices(values.rows(), 1);
    std::int64_t row = 0;
    for (std::int64_t at = starts[0]; at < starts[out.rows];) {
      const std::int64_t count = std::min(values.rows(), starts[out.rows] - at);
      values_->read(at, values.view().middle(0, count));
      indices_->read(at, indices.view().middle(0, count));
      for (std::int64_t i = 0; i < count; ++i) {
        while (starts[row + 1] <= at + i) ++row;
        const double column = indices(i, 0);
        if (!(column >= 0.0 && column < static_cast<double>(columns_) && column == std::floor(column))) {
          refuse_input(name_,
                       fmt::format("damaged: expected a column from 0 to {}, found {} for value {} (counted from "
                                   "0); copy or create the file again",
                                   columns_ - 1, column, at + i));
        }
        if (missing_ != Missing::keep && !std::isfinite(values(i, 0))) {
          refuse_value(first + row, static_cast<std::int64_t>(column), static_cast<double>(values(i, 0)));
        }
        out(row, static_cast<std::int64_t>(column)) +=
            values(i, 0);  // values of duplicate indices are added, as in SciPy
      }
      at += count;
    }
  }

  std::string name_;
  std::string kind_;
  bool by_columns_;
  Precision precision_ = Precision::automatic;
  Missing missing_ = Missing::refuse;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<std::int64_t> starts_;
  std::unique_ptr<PointSource> values_;  // null, like indices_, if all values are zero
  std::unique_ptr<PointSource> indices_;
};

}  // namespace

std::unique_ptr<PointSource> open_sparse(const std::string& file, const SparseGroup& group,
                                         const ReadOptions& options) {
  const std::string name = fmt::format("{}:{}", file, group.path);
  const std::vector<std::int64_t> shape{group.rows, group.columns};
  if (const std::string problem = refusal_of_size(shape); !problem.empty()) refuse_input(name, problem);
  if (const std::string problem = refusal_of_shape(shape, false); !problem.empty()) refuse_input(name, problem);
  std::unique_ptr<PointSource> source = std::make_unique<SparseRows>(file, group, options);
  const std::int64_t value_bytes = source->value_class() == ValueClass::f32 ? 4 : 8;
  const std::int64_t dense_bytes = group.rows * group.columns * value_bytes;
  const bool reduced = !options.columns.empty() || !options.drop_columns.empty();
  if (options.scratch.empty() && dense_bytes > memory_limit() && (!reduced || group.by_columns)) {
    refuse_input(name,
                 fmt::format("the sparse matrix of {} takes {} bytes as a dense matrix, more than this machine's "
                             "memory; reduce it first (for example with scanpy.pp.pca, to obsm/X_pca), give --scratch "
                             "DIR, or, if it is compressed by rows, choose columns with --columns",
                             show_shape(shape), dense_bytes));
  }
  return group.by_columns ? transposed(std::move(source), options.scratch) : std::move(source);
}

}  // namespace kith::data
