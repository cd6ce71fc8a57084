// Reads MATLAB files of level 5 (MathWorks, MAT-File Format). The reader is kith's own: libmatio holds whole files
// without a limit on memory, and kith needs matrices of numbers only.
#include "data/arrays/matlab.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "data/format/array_choice.h"
#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/format/sparse_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/little_endian.h"
#include "data/io/memory_limit.h"
#include "data/io/quoted.h"
#include "data/io/stream_bytes.h"

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
    RawTable table;
    table.name = name;
    table.element = element(values, name);
    table.type = name_of(*number_of_class(read.code));
    table.rows = read.shape[as_column ? 1 : 0];
    table.columns = read.shape[as_column ? 0 : 1];
    table.at = values.at;
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
        // Of most variables this is not all, so sizes of parts are checked when the variable is opened.
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
      RawTable table;
      table.name = name;
      table.element = element(numbers, name);
      // MATLAB declares the values of a sparse logical matrix as float64, and stores a byte for each.
      const bool has_bytes = which == SparseMatrix::values && numbers.bytes > 0 &&
                             numbers.bytes == rows.bytes / size_of(element(rows, name).number);
      if (has_bytes) table.element = {Number::uint8};
      table.rows = numbers.bytes / size_of(table.element.number);
      table.columns = 1;
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
    if (info.unreadable.empty() && !number) info.unreadable = fmt::format("expected numbers, found {}", info.type);
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

}  // namespace

std::vector<DatasetInfo> with_vectors(std::vector<DatasetInfo> all) {
  const auto is_vector = [](const DatasetInfo& info) {
    return info.shape.size() == 2 && std::count(info.shape.begin(), info.shape.end(), 1) > 0;
  };
  const bool has_matrix = std::any_of(all.begin(), all.end(), [&](const DatasetInfo& info) {
    return info.shape.size() == 2 && is_number(info.type) && !is_vector(info);
  });
  for (DatasetInfo& info : all) {
    if (has_matrix && is_vector(info)) info.shape = {info.shape[0] * info.shape[1]};
  }
  return all;
}

bool is_matlab(const std::string& file) { return first_bytes(file, kSignature.size()) == kSignature; }

std::unique_ptr<PointSource> open_matlab(const Location& location, const ReadOptions& options) {
  const MatlabFile file(location.file, options.scratch);
  const std::vector<DatasetInfo> all = describe(file);
  const std::size_t chosen = choose_array(with_vectors(all), location, options.vector_as_column);
  if (!all[chosen].is_readable) {
    const std::string& problem = all[chosen].unreadable;
    if (problem.starts_with(location.file)) throw Error(ExitCode::data, problem);
    refuse_input(fmt::format("{}:{}", location.file, all[chosen].path), problem);
  }
  return file.open(file.variables()[chosen], options);
}

std::vector<DatasetInfo> list_matlab(const Location& location, const ReadOptions& options) {
  std::vector<DatasetInfo> all = describe(MatlabFile(location.file, options.scratch));
  if (location.dataset.empty()) return all;
  return {all[choose_array(all, location, true)]};
}

}  // namespace kith::data
