// Sparse matrices in HDF5 files. AnnData marks a group with encoding-type csr_matrix or csc_matrix and its shape; 10x
// Genomics has genes x cells by columns in the group /matrix, so that cells are rows here; MATLAB marks a group with
// MATLAB_sparse, its number of rows. All hold values, indices, and where each row or column begins.
#include "data/hdf5/hdf5_sparse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/transposed.h"

namespace kith::data {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", name, what));
}

/// Integers of an attribute, at most two.
std::vector<std::int64_t> sizes_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle value(H5Aopen(object, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(value.get()));
  const Handle space(H5Aget_space(value.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != H5T_INTEGER || count < 1 || count > 2) return {};
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count));
  if (H5Aread(value.get(), H5T_NATIVE_INT64, sizes.data()) < 0) return {};
  return sizes;
}

bool holds(hid_t group, const char* name) { return H5Lexists(group, name, H5P_DEFAULT) > 0; }

/// All values of a vector of whole numbers.
std::vector<std::int64_t> read_integers(const std::string& location) {
  const auto source = open_points(location, {.precision = Precision::f64, .vector_as_column = true});
  const auto values = std::get<Matrix<double>>(read_all(*source));
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(values.rows()));
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    const double value = values(i, 0);
    if (!(value >= 0.0 && value < 0x1p53 && value == std::floor(value))) {
      fail(location, fmt::format("damaged: expected whole numbers from 0, found {} at {} (counted from 0)", value, i));
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
    starts_ = read_integers(fmt::format("{}:{}", file, group.starts));
    const bool ascending = std::is_sorted(starts_.begin(), starts_.end());
    if (static_cast<std::int64_t>(starts_.size()) - 1 != rows_ || starts_.front() != 0 || !ascending) {
      fail(name_, fmt::format("damaged: expected {} ascending starts from 0 in {}, found {}{}", rows_ + 1, group.starts,
                              starts_.size(), ascending ? "" : " that do not ascend"));
    }
    precision_ = options.precision;
    if (starts_.back() == 0) return;  // nothing but zeros
    missing_ = options.missing;
    vectors.missing = Missing::keep;  // what is refused is named by its row and column here
    values_ = open_points(fmt::format("{}:{}", file, group.values), vectors);
    vectors.missing = Missing::refuse;
    vectors.precision = Precision::f64;
    indices_ = open_points(fmt::format("{}:{}", file, group.indices), vectors);
    if (values_->rows() < starts_.back() || indices_->rows() < starts_.back()) {
      fail(name_, fmt::format("damaged: expected {} values and indices, found {} and {}", starts_.back(),
                              values_->rows(), indices_->rows()));
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
  std::int64_t held_bytes() const override { return 8 * rows_ + 16 * kPiece; }
  std::int64_t changed_values() const override { return values_ ? values_->changed_values() : 0; }
  void read(std::int64_t first, MatrixView<float> out) override { read_as(first, out); }
  void read(std::int64_t first, MatrixView<double> out) override { read_as(first, out); }

 private:
  static constexpr std::int64_t kPiece = std::int64_t{1} << 20;  // values at a time

  /// Where the matrix has it, whichever way it is compressed.
  [[noreturn]] void refuse_value(std::int64_t row, std::int64_t column, double value) const {
    if (by_columns_) std::swap(row, column);
    fail(name_, fmt::format("row {}, column {} (counted from 0): expected a finite number, found {}; replace the value "
                            "or remove the row{}",
                            row, column,
                            std::isnan(value) ? "NaN"
                            : value > 0       ? "infinity"
                                              : "-infinity",
                            missing_ == Missing::offer ? ", or leave out all such rows with --nan drop" : ""));
  }

  template <class T>
  void read_as(std::int64_t first, MatrixView<T> out) {
    check_request(*this, first, out);
    std::fill_n(out.data, out.size(), T{0});
    if (out.rows == 0 || !values_) return;
    const std::int64_t* starts = starts_.data() + first;
    Matrix<T> values(std::min(kPiece, starts[out.rows] - starts[0] + 1), 1);
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
          fail(name_, fmt::format("damaged: expected a column from 0 to {}, found {} for value {} (counted from 0)",
                                  columns_ - 1, column, at + i));
        }
        if (missing_ != Missing::keep && !std::isfinite(values(i, 0))) {
          refuse_value(first + row, static_cast<std::int64_t>(column), static_cast<double>(values(i, 0)));
        }
        out(row, static_cast<std::int64_t>(column)) += values(i, 0);  // as SciPy: what is named twice is added
      }
      at += count;
    }
  }

  std::string name_;
  const char* kind_;
  bool by_columns_;
  Precision precision_ = Precision::automatic;
  Missing missing_ = Missing::refuse;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<std::int64_t> starts_;
  std::unique_ptr<PointSource> values_;  // none, and no indices, where all is zero
  std::unique_ptr<PointSource> indices_;
};

}  // namespace

std::string text_attribute(hid_t object, const std::string& name) {
  if (H5Aexists(object, name.c_str()) <= 0) return "";
  const Handle value(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  const Handle type(H5Aget_type(value.get()));
  const Handle space(H5Aget_space(value.get()));
  constexpr std::size_t longest = 65536;
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return "";
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(value.get(), type.get(), &text) < 0 || text == nullptr) return "";
    const std::string copy(text, strnlen(text, longest));
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(type.get());
  if (size > longest) return "";
  std::string text(size, '\0');
  if (H5Aread(value.get(), type.get(), text.data()) < 0) return "";
  return text.substr(0, text.find('\0'));
}

std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path);
  if (H5Iget_type(group.get()) != H5I_GROUP) return std::nullopt;
  const std::string begin = path == "/" ? path : fmt::format("{}/", path);
  SparseGroup found;
  found.path = path;
  found.values = begin + "data";
  found.indices = begin + "indices";
  found.starts = begin + "indptr";
  if (H5Aexists(group.get(), "MATLAB_sparse") > 0 && holds(group.get(), "jc")) {
    const auto rows = sizes_attribute(group.get(), "MATLAB_sparse");
    found.indices = begin + "ir";
    found.starts = begin + "jc";
    found.kind = "sparse by columns";
    found.by_columns = true;
    found.rows = rows.empty() ? 0 : rows[0];
    const auto starts = open_points(fmt::format("{}:{}", file.name(), found.starts), {.vector_as_column = true});
    found.columns = starts->rows() - 1;
    return found;
  }
  if (!holds(group.get(), "data") || !holds(group.get(), "indices") || !holds(group.get(), "indptr")) {
    return std::nullopt;
  }
  const std::string encoding = text_attribute(group.get(), "encoding-type");
  const std::string older = text_attribute(group.get(), "h5sparse_format");
  std::vector<std::int64_t> shape = sizes_attribute(group.get(), encoding.empty() ? "h5sparse_shape" : "shape");
  if (encoding.empty() && older.empty() && holds(group.get(), "shape")) {  // 10x: features x cells, by columns
    shape = read_integers(fmt::format("{}:{}shape", file.name(), begin));
    if (shape.size() == 2) std::swap(shape[0], shape[1]);
    found.kind = "sparse by cells";
  } else if (encoding == "csr_matrix" || older == "csr") {
    found.kind = "sparse by rows";
  } else if (encoding == "csc_matrix" || older == "csc") {
    found.kind = "sparse by columns";
    found.by_columns = true;
  } else {
    return std::nullopt;
  }
  if (shape.size() != 2) fail(fmt::format("{}:{}", file.name(), path), "damaged: a sparse matrix without a shape");
  found.rows = shape[0];
  found.columns = shape[1];
  return found;
}

std::unique_ptr<PointSource> open_sparse(const std::string& file, const SparseGroup& group,
                                         const ReadOptions& options) {
  const std::string name = fmt::format("{}:{}", file, group.path);
  const std::vector<std::int64_t> shape{group.rows, group.columns};
  if (std::string wrong = refusal_of_size(shape); !wrong.empty()) fail(name, wrong);
  if (std::string wrong = refusal_of_shape(shape, false); !wrong.empty()) fail(name, wrong);
  std::unique_ptr<PointSource> source = std::make_unique<SparseRows>(file, group, options);
  const std::int64_t value = source->value_class() == ValueClass::f32 ? 4 : 8;
  const std::int64_t memory = capped_product(sysconf(_SC_PHYS_PAGES), sysconf(_SC_PAGESIZE));
  const std::int64_t dense = group.rows * group.columns * value;
  const bool reduced = !options.columns.empty() || !options.drop_columns.empty();
  if (dense > memory && (!reduced || group.by_columns)) {
    fail(name, fmt::format("a sparse matrix of {}, which as a dense one takes {} bytes, more than the memory of this "
                           "machine; reduce it first (as scanpy.pp.pca does, to obsm/X_pca), or choose columns of one "
                           "that is compressed by rows with --columns",
                           show_shape(shape), dense));
  }
  return group.by_columns ? transposed(std::move(source)) : std::move(source);
}

}  // namespace kith::data
