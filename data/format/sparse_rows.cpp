// Sparse matrices as dense matrices: reads starts, indices and values, and adds the values to zeros.
#include "data/format/sparse_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "data/format/filters.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

/// All values of a vector of whole numbers.
std::vector<std::int64_t> read_whole_numbers(PointSource& source) {
  const auto values = std::get<Matrix<double>>(read_all(source));
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(values.size()));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double value = values.data()[i];
    if (!(value >= 0.0 && value < 0x1p53 && value == std::floor(value))) {
      refuse_input(
          source.name(),
          fmt::format(
              "damaged: expected whole numbers from 0, found {} at position {} (counted from 1); copy or create "
              "the file again",
              value, i + 1));
    }
    integers.push_back(static_cast<std::int64_t>(value));
  }
  return integers;
}

/// Compressed rows as a dense matrix.
class SparseRows final : public PointSource {
 public:
  SparseRows(const SparseMatrix& matrix, const ReadOptions& options)
      : name_(matrix.name),
        kind_(matrix.kind),
        by_columns_(matrix.by_columns),
        rows_(matrix.by_columns ? matrix.columns : matrix.rows),
        columns_(matrix.by_columns ? matrix.rows : matrix.columns),
        remark_(matrix.remark),
        indexed_(matrix.indexed),
        names_(matrix.by_columns ? std::vector<std::string>() : matrix.names),
        row_names_(matrix.by_columns ? matrix.names : std::vector<std::string>()) {
    ReadOptions vectors;
    vectors.precision = options.precision;
    vectors.vector_as_column = true;
    vectors.threads = options.threads;
    vectors.scratch = options.scratch;
    const auto starts = matrix.open(SparseMatrix::starts, {.precision = Precision::f64, .vector_as_column = true});
    const auto refuse_starts = [&](const char* problem) {
      refuse_input(name_,
                   fmt::format("damaged: expected {} ascending starts from 0 in {}, found {}{}; copy or create the "
                               "file again",
                               rows_ + 1, matrix.origin, starts->rows(), problem));
    };
    if (starts->rows() - 1 != rows_ || starts->columns() != 1) refuse_starts("");
    constexpr std::int64_t kBytesOfStart = 2 * sizeof(std::int64_t);  // as read, and as held
    require_memory(capped_product(starts->rows(), kBytesOfStart), name_);
    starts_ = read_whole_numbers(*starts);
    if (!std::is_sorted(starts_.begin(), starts_.end())) refuse_starts(" that do not ascend");
    if (starts_.front() != 0) refuse_starts(" from another number");
    precision_ = options.precision;
    if (starts_.back() == 0) return;  // all values are zero
    missing_ = options.missing;
    vectors.missing = Missing::keep;  // read_as() refuses values, with their row and column
    values_ = matrix.open(SparseMatrix::values, vectors);
    vectors.missing = Missing::refuse;
    vectors.precision = Precision::f64;
    indices_ = matrix.open(SparseMatrix::indices, vectors);
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
  std::int64_t held_bytes() const override {
    const std::int64_t parts = values_ ? values_->held_bytes() + indices_->held_bytes() : 0;
    return 8 * rows_ + 16 * kBlockValues + parts;
  }
  std::string only_in_order() const override { return "a sparse matrix is made dense while it is read"; }
  std::int64_t changed_values() const override { return values_ ? values_->changed_values() : 0; }
  std::vector<std::string> remarks() const override {
    return remark_.empty() ? std::vector<std::string>() : std::vector{remark_};
  }
  std::optional<IndexedColumns> indexed_columns() const override { return indexed_; }
  std::vector<std::string> column_names() const override { return names_; }
  std::vector<std::string> kept(Kept which) const override {
    return which == Kept::id ? row_names_ : std::vector<std::string>();
  }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  static constexpr std::int64_t kBlockValues = std::int64_t{1} << 20;  // values read at a time

  /// `row` and `column` are those of the compressed matrix; the message gives those of the points.
  [[noreturn]] void refuse_value(std::int64_t row, std::int64_t column, double value) const {
    if (by_columns_) std::swap(row, column);
    data::refuse_value(fmt::format("{}: row {}, column {} (counted from 1)", name_, row + 1, column + 1),
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
  std::string remark_;
  std::optional<IndexedColumns> indexed_;
  std::vector<std::string> names_, row_names_;  // row_names_: of compressed columns, which become columns again
  std::vector<std::int64_t> starts_;
  std::unique_ptr<PointSource> values_;  // null, like indices_, if all values are zero
  std::unique_ptr<PointSource> indices_;
};

}  // namespace

std::unique_ptr<PointSource> open_sparse(const SparseMatrix& matrix, const ReadOptions& options) {
  const std::vector<std::int64_t> shape{matrix.rows, matrix.columns};
  if (const std::string problem = refusal_of_size(shape); !problem.empty()) refuse_input(matrix.name, problem);
  if (const std::string problem = refusal_of_shape(shape, false); !problem.empty()) refuse_input(matrix.name, problem);
  std::unique_ptr<PointSource> source = std::make_unique<SparseRows>(matrix, options);
  const std::int64_t value_bytes = source->value_class() == ValueClass::f32 ? 4 : 8;
  const std::int64_t dense_bytes = matrix.rows * matrix.columns * value_bytes;
  const bool reduced = !options.columns.empty() || !options.drop_columns.empty();
  if (options.scratch.empty() && dense_bytes > memory_limit() && (!reduced || matrix.by_columns)) {
    throw Error(ExitCode::memory,
                fmt::format("{}: the sparse matrix of {} takes {} bytes as a dense matrix, more than the {} of memory "
                            "that the run may use; reduce it first (for example with scanpy.pp.pca, to obsm/X_pca), "
                            "give a larger --memory or --scratch DIR, or, if it is compressed by rows, choose columns "
                            "with --columns",
                            matrix.name, show_shape(shape), dense_bytes, show_bytes(memory_limit())));
  }
  return matrix.by_columns ? transposed(std::move(source), options.scratch) : std::move(source);
}

SparseBuilder::SparseBuilder(std::string name, std::int64_t lines) : name_(std::move(name)) {
  require_memory(capped_product(lines, sizeof(std::int64_t)), name_);
  starts_.resize(static_cast<std::size_t>(lines) + 1);
}

void SparseBuilder::allocate() {
  std::int64_t entries = 0;
  for (std::int64_t& start : starts_) start = entries += start;
  require_memory(capped_product(entries, sizeof(std::int32_t) + sizeof(double)), name_);
  indices_.resize(static_cast<std::size_t>(entries) * sizeof(std::int32_t));
  values_.resize(static_cast<std::size_t>(entries) * sizeof(double));
  // While entries are added, starts_[i] is the place of the next one of line i.
}

void SparseBuilder::add(std::int64_t line, std::int64_t index, double value) {
  const auto at = static_cast<std::size_t>(starts_[static_cast<std::size_t>(line)]++);
  const auto narrow = static_cast<std::int32_t>(index);
  std::memcpy(indices_.data() + at * sizeof(narrow), &narrow, sizeof(narrow));
  std::memcpy(values_.data() + at * sizeof(value), &value, sizeof(value));
}

std::unique_ptr<PointSource> SparseBuilder::finish(SparseMatrix shape, const ReadOptions& options) {
  // After all entries, starts_[i] is the end of line i.
  std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
  starts_.front() = 0;
  std::vector<std::byte> starts(starts_.size() * sizeof(std::int64_t));
  std::memcpy(starts.data(), starts_.data(), starts.size());
  starts_ = {};
  // In the order of SparseMatrix::Part.
  const Number numbers[] = {Number::int64, Number::int32, Number::float64};
  std::vector<std::byte>* const bytes[] = {&starts, &indices_, &values_};
  shape.open = [&](SparseMatrix::Part part, const ReadOptions& vectors) {
    const std::int64_t rows = std::ssize(*bytes[part]) / size_of(numbers[part]);
    const RawTable table{.name = name_, .element = {numbers[part]}, .rows = rows, .columns = 1};
    return open_raw(InputBytes::held(name_, std::move(*bytes[part])), table, vectors);
  };
  return open_sparse(shape, options);
}

}  // namespace kith::data
