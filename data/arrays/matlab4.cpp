// Level 4: variables one after another, each a header of five int32 (type, rows, columns, complex, bytes of the name),
// the name and the values by columns (MathWorks, MAT-File Format, Level 4 MAT-File Format).
#include "data/arrays/matlab4.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/arrays/matlab.h"
#include "data/format/array_choice.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

constexpr std::int64_t kHeadBytes = 20, kMostNameBytes = 64;  // of a name, with the zero that ends it
constexpr std::size_t kMostVariables = std::size_t{1} << 16;

struct Variable {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  Number number = Number::float64;
  bool swapped = false;
  bool is_text = false, is_sparse = false, is_complex = false;
  const char* machine = "";  // whose numbers are no IEEE ones; empty for others
  std::int64_t at = 0;       // of the values
  std::int64_t bytes = 0;    // of them
};

std::uint32_t word(const char* bytes, bool swapped) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[swapped ? 3 - i : i])} << 8 * i;
  return value;
}

/// The variable whose header is at the beginning of `bytes`, without `at`; nothing if there is none.
std::optional<Variable> parse(std::string_view bytes) {
  if (std::ssize(bytes) < kHeadBytes) return std::nullopt;
  constexpr std::uint32_t kEnd = 5000;  // of the types
  const bool big = word(bytes.data(), false) >= kEnd;
  const std::uint32_t type = word(bytes.data(), big);
  // The digits of the type: machine, nothing, numbers, kind.
  const std::uint32_t machine = type / 1000, number = type / 10 % 10, kind = type % 10;
  constexpr Number kNumbers[] = {Number::float64, Number::float32, Number::int32,
                                 Number::int16,   Number::uint16,  Number::uint8};
  if (type >= kEnd || type / 100 % 10 != 0 || number >= std::size(kNumbers) || kind > 2) return std::nullopt;
  if ((machine == 0 && big) || (machine == 1 && !big)) return std::nullopt;
  constexpr std::uint32_t kMostSize = std::numeric_limits<std::int32_t>::max();
  std::uint32_t sizes[4];
  for (int i = 0; i < 4; ++i) sizes[i] = word(bytes.data() + 4 * (i + 1), big);
  const std::int64_t name_bytes = sizes[3];
  if (sizes[0] > kMostSize || sizes[1] > kMostSize || sizes[2] > 1 || name_bytes < 2 || name_bytes > kMostNameBytes ||
      std::ssize(bytes) < kHeadBytes + name_bytes) {
    return std::nullopt;
  }
  Variable variable;
  variable.name = bytes.substr(kHeadBytes, static_cast<std::size_t>(name_bytes) - 1);
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (bytes[static_cast<std::size_t>(kHeadBytes + name_bytes) - 1] != '\0' ||
      !std::all_of(variable.name.begin(), variable.name.end(), is_of_name)) {
    return std::nullopt;
  }
  variable.rows = sizes[0];
  variable.columns = sizes[1];
  variable.number = kNumbers[number];
  variable.swapped = big != (std::endian::native == std::endian::big) && size_of(variable.number) > 1;
  variable.is_text = kind == 1;
  variable.is_sparse = kind == 2;
  variable.is_complex = sizes[2] == 1 || (variable.is_sparse && variable.columns == 4);
  variable.machine = machine == 2 || machine == 3 ? "a VAX" : machine == 4 ? "a Cray" : "";
  variable.at = kHeadBytes + name_bytes;
  variable.bytes = capped_product(capped_product(variable.rows, variable.columns),
                                  size_of(variable.number) * (sizes[2] == 1 ? 2 : 1));
  return variable;
}

class Matlab4File {
 public:
  explicit Matlab4File(const std::string& file) : input_(InputBytes::open(file, "a MATLAB file")) {
    MemoryGrowth growth(file);
    for (std::int64_t at = 0; at < input_.size();) {
      std::string head(static_cast<std::size_t>(std::min(kHeadBytes + kMostNameBytes, input_.size() - at)), '\0');
      input_.read(at, std::ssize(head), reinterpret_cast<std::byte*>(head.data()));
      std::optional<Variable> variable = parse(head);
      if (!variable) fail(fmt::format("expected a variable at byte {}, found other bytes", at));
      variable->at += at;
      if (variable->bytes > input_.size() - variable->at) {
        fail(fmt::format("variable {} ({}) is cut off", variables_.size() + 1, quoted(variable->name)));
      }
      if (variables_.size() == kMostVariables) fail(fmt::format("more than {} variables", kMostVariables));
      growth.add(2 * static_cast<std::int64_t>(sizeof(Variable)));
      at = variable->at + variable->bytes;
      variables_.push_back(std::move(*variable));
    }
  }

  const std::vector<Variable>& variables() const { return variables_; }

  DatasetInfo describe(const Variable& variable) const {
    DatasetInfo info;
    info.path = "/" + variable.name;
    info.type = variable.is_text ? "text" : name_of(variable.number);
    info.byte_order = variable.swapped ? "big" : "little";
    info.layout = variable.is_sparse ? "sparse" : "columns together";
    info.stored_bytes = variable.bytes;
    info.shape = {variable.rows, variable.columns};
    if (*variable.machine != '\0') {
      info.unreadable = fmt::format(
          "expected numbers of IEEE 754, found numbers of {}; load it in MATLAB and save it "
          "again",
          variable.machine);
    } else if (variable.is_text) {
      info.unreadable = "expected numbers, found text";
    } else if (variable.is_complex) {
      info.unreadable = "expected real numbers, found complex ones; save real and imaginary parts as columns";
    } else if (variable.is_sparse) {
      info.shape = sparse_shape(variable);
      info.is_damaged = info.shape.empty();
      if (info.is_damaged) info.unreadable = "damaged MATLAB file: its shape is missing; copy or save it again";
    }
    if (info.unreadable.empty()) info.unreadable = refusal_of_shape(info.shape, false);
    info.is_readable = info.unreadable.empty();
    return info;
  }

  std::unique_ptr<PointSource> open(const Variable& variable, const ReadOptions& options) const {
    ReadOptions adjusted = options;
    // MATLAB has only doubles in these files, which it stores in fewer bytes if they are whole numbers.
    const ValueClass natural = variable.number == Number::float32 ? ValueClass::f32 : ValueClass::f64;
    adjusted.precision = class_for(natural, options.precision) == ValueClass::f32 ? Precision::f32 : Precision::f64;
    if (variable.is_sparse) return open_entries(variable, adjusted);
    RawTable table = table_of(variable);
    table.type = name_of(variable.number);
    if (options.vector_as_column && table.rows == 1) std::swap(table.rows, table.columns);
    if (table.columns == 1) table.order = RawTable::rows_together;
    return open_raw(InputBytes::open(input_.name(), "a MATLAB file"), table, adjusted);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    refuse_input(input_.name(), fmt::format("damaged MATLAB file: {}; copy or save it again", problem));
  }

  RawTable table_of(const Variable& variable) const {
    RawTable table;
    table.name = fmt::format("{}:/{}", input_.name(), variable.name);
    table.element = {variable.number, variable.swapped};
    table.rows = variable.rows;
    table.columns = variable.columns;
    table.at = variable.at;
    table.order = RawTable::columns_together;
    return table;
  }

  /// Rows and columns of a sparse matrix, which stand in the last row of its entries; empty if they do not.
  std::vector<std::int64_t> sparse_shape(const Variable& variable) const {
    if (variable.rows < 1 || variable.columns != 3) return {};
    std::vector<std::int64_t> shape;
    for (std::int64_t j = 0; j < 2; ++j) {
      RawTable table = table_of(variable);
      table.at += (j * variable.rows + variable.rows - 1) * size_of(variable.number);
      table.rows = table.columns = 1;
      const auto source = open_raw(InputBytes::open(input_.name(), "a MATLAB file"), table,
                                   {.precision = Precision::f64, .missing = Missing::keep});
      const double size = std::get<Matrix<double>>(read_all(*source))(0, 0);
      if (!(size >= 0.0 && size < 0x1p31 && size == std::floor(size))) return {};
      shape.push_back(static_cast<std::int64_t>(size));
    }
    return shape;
  }

  /// Each row of the entries has a row and a column, from 1, and a value.
  std::unique_ptr<PointSource> open_entries(const Variable& variable, const ReadOptions& options) const {
    const RawTable table = table_of(variable);
    require_memory(capped_product(variable.rows * variable.columns, sizeof(double)), table.name);
    const auto source = open_raw(InputBytes::open(input_.name(), "a MATLAB file"), table,
                                 {.precision = Precision::f64, .missing = Missing::keep});
    const auto entries = std::get<Matrix<double>>(read_all(*source));
    const std::vector<std::int64_t> shape = sparse_shape(variable);
    SparseMatrix matrix;
    matrix.name = matrix.origin = table.name;
    matrix.kind = "sparse";
    matrix.rows = shape[0];
    matrix.columns = shape[1];
    const auto index = [&](std::int64_t i, std::int64_t j) {
      const double value = entries(i, j);
      if (value >= 1.0 && value <= static_cast<double>(shape[static_cast<std::size_t>(j)]) &&
          value == std::floor(value)) {
        return static_cast<std::int64_t>(value) - 1;
      }
      fail(fmt::format("expected a {} from 1 to {}, found {} in entry {} of {}", j == 0 ? "row" : "column",
                       shape[static_cast<std::size_t>(j)], value, i + 1, quoted(variable.name)));
    };
    SparseBuilder builder(table.name, matrix.rows);
    const std::int64_t count = entries.rows() - 1;
    for (std::int64_t i = 0; i < count; ++i) builder.count(index(i, 0));
    builder.allocate();
    for (std::int64_t i = 0; i < count; ++i) builder.add(index(i, 0), index(i, 1), entries(i, 2));
    return builder.finish(std::move(matrix), options);
  }

  InputBytes input_;
  std::vector<Variable> variables_;
};

std::vector<DatasetInfo> describe(const Matlab4File& file) {
  std::vector<DatasetInfo> all;
  for (const Variable& variable : file.variables()) all.push_back(file.describe(variable));
  return all;
}

}  // namespace

bool is_matlab4(const std::string& file) {
  return parse(first_bytes(file, static_cast<std::size_t>(kHeadBytes + kMostNameBytes))).has_value();
}

std::unique_ptr<PointSource> open_matlab4(const Location& location, const ReadOptions& options) {
  const Matlab4File file(location.file);
  const std::vector<DatasetInfo> all = describe(file);
  const std::size_t chosen = choose_array(with_vectors(all), location, options.vector_as_column);
  if (!all[chosen].is_readable) {
    refuse_input(fmt::format("{}:{}", location.file, all[chosen].path), all[chosen].unreadable);
  }
  return file.open(file.variables()[chosen], options);
}

std::vector<DatasetInfo> list_matlab4(const Location& location, const ReadOptions&) {
  const std::vector<DatasetInfo> all = describe(Matlab4File(location.file));
  if (location.dataset.empty()) return all;
  return {all[choose_array(all, location, true)]};
}

}  // namespace kith::data
