// Reads MATLAB files of level 5 (MathWorks, MAT-File Format). The reader is kith's own: libmatio holds whole files
// without a limit on memory, and kith needs matrices of numbers only.
#include "data/format/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "data/format/column_choice.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/numbers.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

constexpr std::string_view kSignature = "MATLAB 5.0";
constexpr std::int64_t kHeaderBytes = 128, kTagBytes = 8;
constexpr std::int64_t kMatrix = 14, kCompressed = 15;       // types of elements
constexpr std::int64_t kHeadBytes = std::int64_t{64} << 10;  // of a compressed variable, for the list
constexpr std::size_t kMostVariables = std::size_t{1} << 16;
constexpr std::int64_t kSparse = 5;  // a class of variables

/// The type of stored numbers with this code.
std::optional<Number> number_of(std::int64_t type) {
  constexpr std::pair<int, Number> kTypes[] = {
      {1, Number::int8},   {2, Number::uint8},   {3, Number::int16},   {4, Number::uint16}, {5, Number::int32},
      {6, Number::uint32}, {7, Number::float32}, {9, Number::float64}, {12, Number::int64}, {13, Number::uint64}};
  for (const auto& [code, number] : kTypes) {
    if (code == type) return number;
  }
  return std::nullopt;
}

/// The type of the values of a variable of this class, which may be stored as smaller numbers.
std::optional<Number> number_of_class(std::int64_t code) {
  constexpr Number kClasses[] = {Number::float64, Number::float32, Number::int8,   Number::uint8, Number::int16,
                                 Number::uint16,  Number::int32,   Number::uint32, Number::int64, Number::uint64};
  if (code == kSparse) return Number::float64;
  if (code < 6 || code >= 6 + std::ssize(kClasses)) return std::nullopt;
  return kClasses[code - 6];
}

const char* name_of_class(std::int64_t code) {
  constexpr const char* kNames[] = {"", "a cell array", "a struct", "an object", "text"};
  if (code == 16) return "a function";
  return code >= 1 && code <= 4 ? kNames[code] : "an object";
}

/// The refusal of a class of MATLAB, with what to do there.
std::string refusal_of_class(const std::string& type) {
  return fmt::format("expected numbers, found {}; in MATLAB take {}, then save('FILE.mat', 'x')", type,
                     type == "a struct" ? "a field of it, x = NAME.FIELD"
                     : type == "a cell array"
                         ? "its numbers, x = cell2mat(NAME), or those of its texts, [~, ~, x] = unique(NAME)"
                         : "the numbers of its values, [~, ~, x] = unique(NAME)");
}

/// A part of a variable: numbers of one type.
struct Part {
  std::int64_t type = 0;
  std::int64_t at = 0;  // of its values
  std::int64_t bytes = 0;
  std::int64_t next = 0;  // where the next part begins
};

struct Variable {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t code = 0;  // of its class
  bool complex = false;
  std::int64_t values_at = 0;  // where the parts with its values begin
  // In the file:
  std::int64_t at = 0, stored = 0;
  bool compressed = false;
};

class MatlabFile {
 public:
  MatlabFile(const std::string& file, const std::string& scratch)
      : name_(file), scratch_(scratch), input_(InputBytes::open(file, "a MATLAB file")) {
    const std::string begin = input_.begin(kHeaderBytes);
    const std::string order = std::ssize(begin) < kHeaderBytes ? "" : begin.substr(kHeaderBytes - 2);
    if (order != "IM" && order != "MI") fail(file, "its header is cut off");
    swapped_ = order == "MI";
    MemoryGrowth growth(file);
    for (std::int64_t at = kHeaderBytes; at + kTagBytes <= input_.size();) {
      const std::int64_t type = number(input_, at), bytes = number(input_, at + 4);
      at += kTagBytes;
      if (bytes > input_.size() - at) fail(file, fmt::format("variable {} is cut off", variables_.size() + 1));
      if (type == kMatrix || type == kCompressed) add_variable(at, bytes, type == kCompressed);
      growth.add(2 * static_cast<std::int64_t>(sizeof(Variable)));
      at += bytes;
    }
  }

  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<std::string>& faults() const { return faults_; }

  /// The points of a variable of numbers.
  std::unique_ptr<PointSource> open(const Variable& variable, const ReadOptions& options) const {
    const std::string name = fmt::format("{}:/{}", name_, variable.name);
    // Of an uncompressed variable, the parser sees its body alone, as in a compressed one behind its tag.
    InputBytes bytes = variable.compressed ? inflate(variable, name) : InputBytes::open(name_, "a MATLAB file");
    const std::int64_t begin = variable.compressed ? kTagBytes : variable.at;
    const std::int64_t end = variable.compressed ? bytes.size() : variable.at + variable.stored;
    const Variable read = parse(bytes, begin, end, name);
    ReadOptions adjusted = options;
    adjusted.precision = class_for(natural_class_of(*number_of_class(read.code)), options.precision) == ValueClass::f32
                             ? Precision::f32
                             : Precision::f64;
    if (read.code == kSparse) return open_sparse_part(bytes, read, end, name, adjusted);
    const Part values = part(bytes, read.values_at, end, name);
    const bool as_column = options.vector_as_column && read.shape[0] == 1;
    RawTable table{.name = name,
                   .element = element(values, name),
                   .rows = read.shape[as_column ? 1 : 0],
                   .columns = read.shape[as_column ? 0 : 1],
                   .at = values.at,
                   .type = name_of(*number_of_class(read.code))};
    if (table.columns > 1) table.order = RawTable::columns_together;
    if (values.bytes != table.bytes()) {
      fail(name, fmt::format("{} values of {} are declared, and {} bytes stored", show_shape(read.shape),
                             name_of(table.element.number), values.bytes));
    }
    return open_raw(std::move(bytes), table, adjusted);
  }

 private:
  [[noreturn]] static void fail(const std::string& place, const std::string& problem) {
    refuse_input(place, fmt::format("damaged MATLAB file: {}; copy or save it again", problem));
  }

  std::int64_t number(const InputBytes& bytes, std::int64_t at) const {
    std::array<std::byte, 4> word{};
    bytes.read(at, std::ssize(word), word.data());
    if (swapped_) std::reverse(word.begin(), word.end());
    return static_cast<std::int64_t>(little_endian(word.data(), 4));
  }

  /// The part at `at`; it ends before `end`.
  Part part(const InputBytes& bytes, std::int64_t at, std::int64_t end, const std::string& name) const {
    if (at > end - kTagBytes) fail(name, "a part of it is missing");
    Part part;
    const std::int64_t word = number(bytes, at);
    if (word >> 16 != 0) {  // up to four bytes within the tag
      part = {word & 0xffff, at + 4, word >> 16, at + kTagBytes};
      if (part.bytes > 4) fail(name, "a short part has more than 4 bytes");
    } else {
      part = {word, at + kTagBytes, number(bytes, at + 4), 0};
      part.next = part.at + (part.bytes + 7) / 8 * 8;
    }
    if (part.bytes > end - part.at) fail(name, "a part of it is cut off");
    return part;
  }

  ElementType element(const Part& part, const std::string& name) const {
    const std::optional<Number> number = number_of(part.type);
    if (!number) fail(name, fmt::format("its numbers have the unknown type {}", part.type));
    return {*number, swapped_ && size_of(*number) > 1};
  }

  /// What is in front of the values of a variable, whose body is at begin .. end - 1.
  Variable parse(const InputBytes& bytes, std::int64_t begin, std::int64_t end, const std::string& name) const {
    constexpr std::int64_t kFlagBytes = 8, kMostRank = 32, kComplex = 0x800;
    const Part flags = part(bytes, begin, end, name);
    if (flags.bytes != kFlagBytes) fail(name, "its flags are missing");
    const std::int64_t word = number(bytes, flags.at);
    const Part sizes = part(bytes, flags.next, end, name), text = part(bytes, sizes.next, end, name);
    if (sizes.bytes % 4 != 0 || sizes.bytes < 8 || sizes.bytes > 4 * kMostRank) fail(name, "it has no shape");
    Variable variable;
    variable.code = word & 0xff;
    variable.complex = (word & kComplex) != 0;
    for (std::int64_t at = sizes.at; at < sizes.at + sizes.bytes; at += 4) {
      const std::int64_t size = number(bytes, at);
      if (size > std::numeric_limits<std::int32_t>::max()) fail(name, "a size of it is negative");
      variable.shape.push_back(size);
    }
    if (text.bytes > kHeadBytes / 2) fail(name, "its name is too long");
    variable.name.resize(static_cast<std::size_t>(text.bytes));
    bytes.read(text.at, text.bytes, reinterpret_cast<std::byte*>(variable.name.data()));
    variable.values_at = text.next;
    return variable;
  }

  void add_variable(std::int64_t at, std::int64_t stored, bool compressed) {
    const std::string name = fmt::format("{}: variable {}", name_, variables_.size() + 1);
    if (variables_.size() == kMostVariables) fail(name_, fmt::format("more than {} variables", kMostVariables));
    Variable variable;
    std::string fault;
    try {
      if (compressed) {
        // The head holds a part of most variables, so sizes of parts are checked when the variable is opened.
        const InputBytes head = inflate_zlib(input_, at, stored, kHeadBytes, name);
        if (head.size() < kTagBytes || number(head, 0) != kMatrix) fail(name, "it does not begin with a matrix");
        variable = parse(head, kTagBytes, head.size(), name);
      } else {
        variable = parse(input_, at, at + stored, name);
      }
    } catch (const Error& error) {
      if (error.code() != ExitCode::data) throw;
      fault = error.what();
    }
    if (fault.empty() && variable.name.empty()) return;  // what MATLAB keeps for objects
    variable.at = at;
    variable.stored = stored;
    variable.compressed = compressed;
    variables_.push_back(std::move(variable));
    faults_.push_back(std::move(fault));
  }

  /// The tag and the body of a compressed variable.
  InputBytes inflate(const Variable& variable, const std::string& name) const {
    const InputBytes head = inflate_zlib(input_, variable.at, variable.stored, kTagBytes, name);
    const std::int64_t size = head.size() < kTagBytes ? 0 : kTagBytes + number(head, 4);
    if (size > capped_product(variable.stored, kDeflateExpansion)) {
      fail(name, fmt::format("it claims {} bytes, of which {} are stored", size, variable.stored));
    }
    InputBytes bytes = inflate_zlib(input_, variable.at, variable.stored, size + 1, name, scratch_);
    if (bytes.size() != size || size == 0) {
      fail(name, fmt::format("expected {} bytes in it, found {}", size,
                             bytes.size() > size ? "more" : std::to_string(bytes.size())));
    }
    input_.check_unchanged();
    return bytes;
  }

  std::unique_ptr<PointSource> open_sparse_part(const InputBytes& bytes, const Variable& variable, std::int64_t end,
                                                const std::string& name, const ReadOptions& options) const {
    SparseMatrix matrix;
    matrix.name = matrix.origin = name;
    matrix.kind = "sparse by columns";
    matrix.by_columns = true;
    matrix.rows = variable.shape[0];
    matrix.columns = variable.shape[1];
    const Part rows = part(bytes, variable.values_at, end, name);
    const Part starts = part(bytes, rows.next, end, name);
    const Part values = part(bytes, starts.next, end, name);
    matrix.open = [&](SparseMatrix::Part which, const ReadOptions& vectors) {
      const Part& numbers = which == SparseMatrix::starts ? starts : which == SparseMatrix::indices ? rows : values;
      RawTable table{.name = name, .element = element(numbers, name), .columns = 1};
      // MATLAB declares the values of a sparse logical matrix as float64, and stores a byte for each.
      const bool has_bytes = which == SparseMatrix::values && numbers.bytes > 0 &&
                             numbers.bytes == rows.bytes / size_of(element(rows, name).number);
      if (has_bytes) table.element = {Number::uint8};
      table.rows = numbers.bytes / size_of(table.element.number);
      require_memory(numbers.bytes, name);
      std::vector<std::byte> copy(static_cast<std::size_t>(numbers.bytes));
      bytes.read(numbers.at, numbers.bytes, copy.data());
      return open_raw(InputBytes::held(name, std::move(copy)), table, vectors);
    };
    return open_sparse(matrix, options);
  }

  std::string name_, scratch_;
  InputBytes input_;
  bool swapped_ = false;
  std::vector<Variable> variables_;
  std::vector<std::string> faults_;  // of each variable; empty if it could be described
};

std::vector<DatasetInfo> describe(const MatlabFile& file) {
  std::vector<DatasetInfo> all;
  for (std::size_t i = 0; i < file.variables().size(); ++i) {
    const Variable& variable = file.variables()[i];
    DatasetInfo info;
    const std::optional<Number> number = number_of_class(variable.code);
    info.path = "/" + (variable.name.empty() ? fmt::format("variable {}", i + 1) : variable.name);
    info.shape = variable.shape;
    info.type = !file.faults()[i].empty() ? "" : number ? name_of(*number) : name_of_class(variable.code);
    info.layout = variable.code == kSparse ? "sparse by columns" : "columns together";
    if (variable.compressed) info.filters.push_back("deflate");
    info.stored_bytes = variable.stored;
    info.unreadable = file.faults()[i];
    info.is_damaged = !info.unreadable.empty();
    if (info.unreadable.empty() && !number) info.unreadable = refusal_of_class(info.type);
    if (info.unreadable.empty() && variable.complex) {
      info.unreadable = "expected real numbers, found complex ones; save real and imaginary parts as columns";
    }
    if (info.unreadable.empty()) info.unreadable = refusal_of_size(info.shape);
    if (info.unreadable.empty()) info.unreadable = refusal_of_shape(info.shape, false);
    info.is_readable = info.unreadable.empty();
    all.push_back(std::move(info));
  }
  return all;
}

// Level 4: variables one after another, each a header of five int32 (type, rows, columns, complex, bytes of the name),
// the name and the values by columns (MathWorks, MAT-File Format, Level 4 MAT-File Format).

constexpr std::int64_t kHeadBytes4 = 20, kMostNameBytes = 64;  // of a name, with the zero that ends it

struct Variable4 {
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
std::optional<Variable4> parse4(std::string_view bytes) {
  if (std::ssize(bytes) < kHeadBytes4) return std::nullopt;
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
      std::ssize(bytes) < kHeadBytes4 + name_bytes) {
    return std::nullopt;
  }
  Variable4 variable;
  variable.name = bytes.substr(kHeadBytes4, static_cast<std::size_t>(name_bytes) - 1);
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (bytes[static_cast<std::size_t>(kHeadBytes4 + name_bytes) - 1] != '\0' ||
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
  variable.at = kHeadBytes4 + name_bytes;
  variable.bytes = capped_product(capped_product(variable.rows, variable.columns),
                                  size_of(variable.number) * (sizes[2] == 1 ? 2 : 1));
  return variable;
}

class Matlab4File {
 public:
  explicit Matlab4File(const std::string& file) : input_(InputBytes::open(file, "a MATLAB file")) {
    MemoryGrowth growth(file);
    for (std::int64_t at = 0; at < input_.size();) {
      std::string head(static_cast<std::size_t>(std::min(kHeadBytes4 + kMostNameBytes, input_.size() - at)), '\0');
      input_.read(at, std::ssize(head), reinterpret_cast<std::byte*>(head.data()));
      std::optional<Variable4> variable = parse4(head);
      if (!variable) fail(fmt::format("expected a variable at byte {}, found other bytes", at));
      variable->at += at;
      if (variable->bytes > input_.size() - variable->at) {
        fail(fmt::format("variable {} ({}) is cut off", variables_.size() + 1, quoted(variable->name)));
      }
      if (variables_.size() == kMostVariables) fail(fmt::format("more than {} variables", kMostVariables));
      growth.add(2 * static_cast<std::int64_t>(sizeof(Variable4)));
      at = variable->at + variable->bytes;
      variables_.push_back(std::move(*variable));
    }
  }

  const std::vector<Variable4>& variables() const { return variables_; }

  DatasetInfo describe(const Variable4& variable) const {
    DatasetInfo info{.path = "/" + variable.name,
                     .shape = {variable.rows, variable.columns},
                     .type = variable.is_text ? "text" : name_of(variable.number),
                     .byte_order = variable.swapped ? "big" : "little",
                     .layout = variable.is_sparse ? "sparse" : "columns together",
                     .stored_bytes = variable.bytes};
    if (*variable.machine != '\0') {
      info.unreadable = fmt::format(
          "expected numbers of IEEE 754, found numbers of {}; load it in MATLAB and save it "
          "again",
          variable.machine);
    } else if (variable.is_text) {
      info.unreadable = refusal_of_class("text");
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

  std::unique_ptr<PointSource> open(const Variable4& variable, const ReadOptions& options) const {
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

  RawTable table_of(const Variable4& variable) const {
    return {.name = fmt::format("{}:/{}", input_.name(), variable.name),
            .element = {variable.number, variable.swapped},
            .rows = variable.rows,
            .columns = variable.columns,
            .at = variable.at,
            .order = RawTable::columns_together};
  }

  /// Rows and columns of a sparse matrix, which stand in the last row of its entries; empty if they do not.
  std::vector<std::int64_t> sparse_shape(const Variable4& variable) const {
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
  std::unique_ptr<PointSource> open_entries(const Variable4& variable, const ReadOptions& options) const {
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
  std::vector<Variable4> variables_;
};

std::vector<DatasetInfo> describe(const Matlab4File& file) {
  std::vector<DatasetInfo> all;
  for (const Variable4& variable : file.variables()) all.push_back(file.describe(variable));
  return all;
}

/// For the choice of a variable, a row or a column beside other matrices is a vector.
std::vector<DatasetInfo> with_vectors(std::vector<DatasetInfo> all) {
  const auto is_vector = [](const DatasetInfo& info) {
    return info.shape.size() == 2 && std::count(info.shape.begin(), info.shape.end(), 1) > 0;
  };
  const bool has_matrix = std::ranges::any_of(
      all, [&](const DatasetInfo& info) { return info.shape.size() == 2 && is_number(info.type) && !is_vector(info); });
  for (DatasetInfo& info : all) {
    if (has_matrix && is_vector(info)) info.shape = {info.shape[0] * info.shape[1]};
  }
  return all;
}

template <class File>
Opened open_variable(const File& file, const Location& location, const ReadOptions& options) {
  const Listed all = describe(file);
  const std::size_t chosen = choose_array(with_vectors(all), location, options.vector_as_column);
  if (all[chosen].is_readable) return file.open(file.variables()[chosen], options);
  const std::string& problem = all[chosen].unreadable;
  if (problem.starts_with(location.file)) throw Error(ExitCode::data, problem);
  refuse_input(fmt::format("{}:{}", location.file, all[chosen].path), problem);
}

template <class File>
Listed list_variables(const File& file, const Location& location) {
  const Listed all = describe(file);
  if (location.dataset.empty()) return all;
  return {all[choose_array(all, location, true)]};
}

}  // namespace

bool is_matlab(const std::string& file) { return first_bytes(file, kSignature.size()) == kSignature; }
Opened open_matlab(const Location& location, const ReadOptions& options) {
  return open_variable(MatlabFile(location.file, options.scratch), location, options);
}
Listed list_matlab(const Location& location, const ReadOptions& options) {
  return list_variables(MatlabFile(location.file, options.scratch), location);
}

bool is_matlab4(const std::string& file) {
  return parse4(first_bytes(file, static_cast<std::size_t>(kHeadBytes4 + kMostNameBytes))).has_value();
}
Opened open_matlab4(const Location& location, const ReadOptions& options) {
  return open_variable(Matlab4File(location.file), location, options);
}
Listed list_matlab4(const Location& location, const ReadOptions&) {
  return list_variables(Matlab4File(location.file), location);
}

}  // namespace kith::data
