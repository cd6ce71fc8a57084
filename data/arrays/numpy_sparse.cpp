// Compressed rows and columns are read as they are stored; coordinates, diagonals and blocks are compressed first.
#include "data/arrays/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

/// How the values are arranged, in the words of SciPy.
enum class Format { none, csr, csc, coo, dia, bsr, unknown };

/// Calls visit(row, column, value) for each entry.
using Visit = std::function<void(std::int64_t row, std::int64_t column, double value)>;

std::int64_t count_of(const NumpyHeader& header) {
  std::int64_t count = 1;
  for (const std::int64_t size : header.shape) count = capped_product(count, size);
  return count;
}

class SparseArchive {
 public:
  explicit SparseArchive(const ArchiveArrays& arrays) : arrays_(arrays) {}

  bool is_one() const { return has("data") && has("shape") && (has("format") || names_format() != Format::none); }

  SparseFacts facts() {
    require_format();
    read_shape();
    return {rows_, columns_,
            format_ == Format::csr   ? "sparse by rows"
            : format_ == Format::csc ? "sparse by columns"
                                     : "sparse"};
  }

  std::unique_ptr<PointSource> open(const ReadOptions& options) {
    const SparseFacts known = facts();
    SparseMatrix matrix;
    matrix.name = arrays_.file;
    matrix.kind = known.layout;
    matrix.origin = "/indptr";
    matrix.rows = rows_;
    matrix.columns = columns_;
    if (format_ == Format::csr || format_ == Format::csc) {
      matrix.by_columns = format_ == Format::csc;
      matrix.open = [open = arrays_.open](SparseMatrix::Part part, const ReadOptions& vectors) {
        const char* const names[] = {"indptr", "indices", "data"};  // in the order of SparseMatrix::Part
        return open(names[part], vectors, false);
      };
      return open_sparse(matrix, options);
    }
    const NumpyHeader& data = *arrays_.header("data");
    if (!data.element) refuse_input(arrays_.file + ":/data", data.obstacle);
    ReadOptions adjusted = options;
    adjusted.precision = class_for(natural_class_of(data.element->number), options.precision) == ValueClass::f32
                             ? Precision::f32
                             : Precision::f64;
    SparseBuilder builder(arrays_.file, rows_);
    const Entries entries = read_entries();
    visit(entries, [&](std::int64_t row, std::int64_t, double) { builder.count(row); });
    builder.allocate();
    visit(entries, [&](std::int64_t row, std::int64_t column, double value) { builder.add(row, column, value); });
    return builder.finish(std::move(matrix), adjusted);
  }

 private:
  /// Arrays of the formats that are not read as they are stored.
  struct Entries {
    Matrix<double> values, rows, columns;  // columns: of a dia, the offsets
  };

  [[noreturn]] void damaged(const std::string& problem) const {
    refuse_input(arrays_.file, fmt::format("damaged sparse matrix: {}; save it again", problem));
  }
  bool has(const char* name) const { return arrays_.header(name) != nullptr; }

  /// The format that the names of the arrays say, where no array says it.
  Format names_format() const {
    const NumpyHeader *const data = arrays_.header("data"), *const shape = arrays_.header("shape"),
                             *const coords = arrays_.header("coords");
    if (data == nullptr || shape == nullptr) return Format::none;
    if (coords != nullptr) {
      const bool fits = coords->shape.size() == 2 && shape->shape.size() == 1 && coords->shape[0] == shape->shape[0] &&
                        coords->shape[1] == count_of(*data);
      return fits ? Format::coo : Format::none;
    }
    return has("indices") && has("indptr") && has("compressed_axes") ? Format::csr : Format::none;
  }

  void require_format() {
    const std::string text = has("format") ? arrays_.text("format") : "";
    const std::pair<const char*, Format> known[] = {{"csr", Format::csr}, {"csc", Format::csc}, {"coo", Format::coo},
                                                    {"dia", Format::dia}, {"bsr", Format::bsr}, {"gcxs", Format::csr}};
    const auto* const found =
        std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return text == k.first; });
    format_ = found != std::end(known) ? found->second : text.empty() ? names_format() : Format::unknown;
    if (format_ == Format::unknown || format_ == Format::none) {
      refuse_input(arrays_.file, fmt::format("expected a sparse matrix in the format csr, csc, coo, bsr or dia, found "
                                             "'{}'; save it again: scipy.sparse.save_npz(FILE, x.tocsr())",
                                             quoted(text, 20)));
    }
    if (has("fill_value")) require_zero_fill();
  }

  /// Of PyData: the value of the entries that are not stored.
  void require_zero_fill() const {
    const NumpyHeader& header = *arrays_.header("fill_value");
    const std::vector<double> fill =
        count_of(header) == 1 && header.element ? numbers("fill_value") : std::vector<double>{};
    if (fill.size() == 1 && fill[0] == 0.0) return;
    refuse_input(arrays_.file,
                 fmt::format("expected a sparse matrix of zeros, found the fill_value {}; save it as an array: python3 "
                             "-c \"import numpy, sparse; numpy.save('OUT.npy', sparse.load_npz('IN').todense())\"",
                             fill.empty() ? header.type : fmt::format("{}", fill[0])));
  }

  /// All values of a small array.
  std::vector<double> numbers(const char* name) const {
    const auto source =
        arrays_.open(name, {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep}, true);
    require_memory(capped_product(source->rows(), sizeof(double)), source->name());
    const auto values = std::get<Matrix<double>>(read_all(*source));
    return {values.data(), values.data() + values.size()};
  }

  void read_shape() {
    if (count_of(*arrays_.header("shape")) != 2) {
      refuse_input(arrays_.file, fmt::format("expected a sparse matrix of 2 dimensions (rows, features), found {}; "
                                             "reshape it to rows x features, or save it again if it is damaged",
                                             count_of(*arrays_.header("shape"))));
    }
    const std::vector<double> sizes = numbers("shape");
    for (const double size : sizes) {
      if (!(size < 0x1p53 && size >= 0 && size == std::floor(size))) {
        damaged(fmt::format("expected sizes in shape, found {}", size));
      }
    }
    rows_ = static_cast<std::int64_t>(sizes[0]);
    columns_ = static_cast<std::int64_t>(sizes[1]);
    if (format_ == Format::csr && has("compressed_axes")) {
      const std::vector<double> axes = numbers("compressed_axes");
      if (axes.size() != 1 || (axes[0] != 0.0 && axes[0] != 1.0)) damaged("compressed_axes is neither 0 nor 1");
      if (axes[0] == 1.0) format_ = Format::csc;
    }
    constexpr std::int64_t kMostColumns = std::numeric_limits<std::int32_t>::max();
    const bool as_stored = format_ == Format::csr || format_ == Format::csc;
    if (!as_stored && columns_ > kMostColumns) damaged(fmt::format("it claims {} columns", columns_));
  }

  /// An array as a matrix of float64 (n x 1 for vectors); empty if it has no values.
  Matrix<double> table(const char* name, bool flat) const {
    const NumpyHeader* const header = arrays_.header(name);
    if (header == nullptr) damaged(fmt::format("{} is missing", name));
    if (count_of(*header) == 0) return {};
    const auto source =
        arrays_.open(name, {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep}, flat);
    require_memory(capped_product(source->rows() * source->columns(), sizeof(double)), source->name());
    return std::get<Matrix<double>>(read_all(*source));
  }

  Entries read_entries() const {
    Entries entries;
    entries.values = table("data", format_ == Format::bsr);
    if (format_ == Format::coo && has("coords")) {
      const Matrix<double> both = table("coords", false);
      if (both.size() != 2 * entries.values.size()) damaged("coords and data have different lengths");
      entries.rows = Matrix<double>(both.size() / 2, 1);
      entries.columns = Matrix<double>(both.size() / 2, 1);
      std::copy_n(both.data(), entries.rows.size(), entries.rows.data());
      std::copy_n(both.data() + entries.rows.size(), entries.columns.size(), entries.columns.data());
    } else if (format_ == Format::coo) {
      entries.rows = table("row", false);
      entries.columns = table("col", false);
    } else if (format_ == Format::dia) {
      entries.columns = table("offsets", false);
    } else {
      entries.rows = table("indptr", false);
      entries.columns = table("indices", false);
    }
    return entries;
  }

  /// A whole number of an array, at least `least` and below `end`.
  std::int64_t whole(const Matrix<double>& array, std::int64_t i, std::int64_t least, std::int64_t end,
                     const char* what) const {
    const double value = array.data()[i];
    if (value >= static_cast<double>(least) && value < static_cast<double>(end) && value == std::floor(value)) {
      return static_cast<std::int64_t>(value);
    }
    damaged(fmt::format("expected a {} from {} to {}, found {} at position {} (counted from 0)", what, least, end - 1,
                        value, i));
  }

  void visit(const Entries& entries, const Visit& entry) const {
    if (format_ == Format::coo) return visit_coordinates(entries, entry);
    return format_ == Format::dia ? visit_diagonals(entries, entry) : visit_blocks(entries, entry);
  }

  void visit_coordinates(const Entries& entries, const Visit& entry) const {
    if (entries.rows.size() != entries.values.size() || entries.columns.size() != entries.values.size()) {
      damaged(fmt::format("it has {} values, {} rows and {} columns", entries.values.size(), entries.rows.size(),
                          entries.columns.size()));
    }
    for (std::int64_t i = 0; i < entries.values.size(); ++i) {
      entry(whole(entries.rows, i, 0, rows_, "row"), whole(entries.columns, i, 0, columns_, "column"),
            entries.values.data()[i]);
    }
  }

  /// Row k of the values is a diagonal: its value j stands in column j, and in row j - offsets[k].
  void visit_diagonals(const Entries& entries, const Visit& entry) const {
    if (entries.columns.size() != entries.values.rows()) {
      damaged(fmt::format("it has {} diagonals and {} offsets", entries.values.rows(), entries.columns.size()));
    }
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    for (std::int64_t k = 0; k < entries.values.rows(); ++k) {
      const std::int64_t offset = whole(entries.columns, k, -kMost, kMost, "offset");
      const std::int64_t end = std::min({entries.values.columns(), columns_, rows_ + offset});
      for (std::int64_t j = std::max<std::int64_t>(offset, 0); j < end; ++j) {
        if (entries.values(k, j) != 0.0) entry(j - offset, j, entries.values(k, j));
      }
    }
  }

  /// Compressed rows of dense blocks.
  void visit_blocks(const Entries& entries, const Visit& entry) const {
    const std::vector<std::int64_t>& shape = arrays_.header("data")->shape;
    const bool divides =
        shape.size() == 3 && shape[1] > 0 && shape[2] > 0 && rows_ % shape[1] == 0 && columns_ % shape[2] == 0;
    if (!divides) damaged(fmt::format("blocks of {} in {} x {}", show_shape(shape), rows_, columns_));
    const std::int64_t height = shape[1], width = shape[2], lines = rows_ / height, blocks = entries.columns.size();
    if (entries.rows.size() != lines + 1 || blocks > shape[0]) damaged("indptr and indices do not fit its shape");
    whole(entries.rows, 0, 0, 1, "first start");
    for (std::int64_t line = 0, at = 0; line < lines; ++line) {
      const std::int64_t end = whole(entries.rows, line + 1, at, blocks + 1, "start");
      for (; at < end; ++at) {
        const std::int64_t column = whole(entries.columns, at, 0, columns_ / width, "block");
        for (std::int64_t i = 0; i < height * width; ++i) {
          const double value = entries.values.data()[at * height * width + i];
          if (value != 0.0) entry(line * height + i / width, column * width + i % width, value);
        }
      }
    }
  }

  const ArchiveArrays& arrays_;
  Format format_ = Format::none;
  std::int64_t rows_ = 0, columns_ = 0;
};

}  // namespace

bool is_sparse(const ArchiveArrays& arrays) { return SparseArchive(arrays).is_one(); }

SparseFacts describe_sparse(const ArchiveArrays& arrays) { return SparseArchive(arrays).facts(); }

std::unique_ptr<PointSource> open_sparse_archive(const ArchiveArrays& arrays, const ReadOptions& options) {
  return SparseArchive(arrays).open(options);
}

}  // namespace kith::data
