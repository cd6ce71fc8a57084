// Parses the header of a NumPy array, a Python dictionary with three known keys (numpy.lib.format). Evaluates no Python
// code, and never reads pickles.
#include "data/arrays/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <iterator>
#include <utility>

#include "data/format/shape.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// In the order of Number. ml_dtypes, which JAX and PyTorch users have, calls bfloat16 two bytes of anything.
constexpr std::string_view kTypeCodes[] = {"f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "V2"};
static_assert(std::size(kTypeCodes) == static_cast<std::size_t>(last_value(Number{})) + 1);

/// What a code such as "<f4" says.
struct Type {
  std::string name;                    // shown
  std::int64_t bytes = 0;              // of one value
  std::optional<ElementType> element;  // if kith can read it
};

Type type_of(const std::string& descr) {
  if (descr == "[") return {"record", 0, std::nullopt};
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string code = descr.substr(has_order ? 1 : 0);
  const auto* known = std::ranges::find(kTypeCodes, code == "b1" ? "u1" : code == "bfloat16" ? "V2" : code);
  if (known != std::end(kTypeCodes)) {
    const auto number = static_cast<Number>(known - kTypeCodes);
    const bool big = std::endian::native == std::endian::big;
    const bool swapped = size_of(number) > 1 && has_order && (descr[0] == '<' ? big : descr[0] == '>' && !big);
    return {code == "b1" ? "bool" : name_of(number), size_of(number), ElementType{number, swapped}};
  }
  const char letter = code.empty() ? '\0' : code[0];
  Type type;
  std::from_chars(code.data() + std::min<std::size_t>(code.size(), 1), code.data() + code.size(), type.bytes);
  type.bytes = std::max<std::int64_t>(type.bytes, 0);
  switch (letter) {
    case 'O':
      return {"objects", 8, std::nullopt};
    case 'U':
      type.bytes = capped_product(type.bytes, 4);
      [[fallthrough]];
    case 'S':
    case 'a':
      type.name = "text";
      return type;
    case 'c':
      type.name = "complex";
      return type;
    case 'M':
    case 'm':
      type.name = "dates";
      return type;
    default:
      type.name = quoted(descr, 60);
      return type;
  }
}

/// Parses the dictionary.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(NumpyHeader& header, std::string& descr) {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        descr = peek() == '[' ? fields(header.records) : quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail(fmt::format("found an unknown key '{}'", kith::quoted(key, 60)));
      }
      if (!take(',') && peek() != '}') fail("expected a comma between its entries");
    }
    if (!has_descr || !has_order || !has_shape) fail("expected the keys descr, fortran_order and shape");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    refuse_input(name_, fmt::format("damaged NumPy header: {}; save the array again with numpy.save", problem));
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected {} at byte {} of it", c, at_));
  }
  std::string quoted() {
    const char quote = peek();
    const auto end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail(fmt::format("expected a quoted word at byte {} of it", at_));
    const std::size_t begin = at_ + 1;
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }
  /// The fields of a structured type, [('x', '<f4'), (('title', 'y'), '<i4', (3,)), ...]. Returns "[" in place of a
  /// code.
  std::string fields(Records& records, int depth = 0) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
    constexpr int kMostRecordsWithin = 32;
    if (depth == kMostRecordsWithin) fail("its records are nested too deeply");
    expect('[');
    while (!take(']')) {
      RecordField field;
      expect('(');
      if (take('(')) {
        quoted();
        expect(',');
        field.name = quoted();
        expect(')');
      } else {
        field.name = quoted();
      }
      expect(',');
      Records inner;
      const std::string code = peek() == '[' ? fields(inner, depth + 1) : quoted();
      const Type type = type_of(code);
      std::int64_t bytes = code == "[" ? inner.bytes : type.bytes;
      if (take(',') && peek() == '(') {
        for (const std::int64_t size : tuple()) field.count = capped_product(field.count, size);
      }
      expect(')');
      field.type = type.name;
      field.element = type.element;
      field.at = records.bytes;
      bytes = capped_product(bytes, field.count);
      if (bytes > kMostBytes) fail("a field is larger than any record");
      records.bytes += bytes;
      if (records.bytes > kMostBytes) fail("its records are too large");
      if (!field.element) field.count = 1;
      const bool is_padding = field.name.empty() && !field.element;
      if (!is_padding && field.count > 0) records.fields.push_back(std::move(field));
      if (!take(',') && peek() != ']') fail("expected a comma between its fields");
    }
    return "[";
  }
  bool boolean() {
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      peek();
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    fail("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!take(')')) {
      peek();
      std::int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [stop, problem] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (problem != std::errc() || size < 0) fail("its shape is not a list of sizes");
      at_ += static_cast<std::size_t>(stop - begin);
      take('L');  // Python 2
      sizes.push_back(size);
      if (!take(',') && peek() != ')') fail("its shape is not a list of sizes");
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Sets the type from a code; "[": that of records.
void set_type(NumpyHeader& header, const std::string& descr) {
  const Type type = type_of(descr);
  header.type = type.name;
  header.element = type.element;
  if (type.element) return;
  if (type.name == "text") {
    header.text_bytes = type.bytes;
    header.wide = descr.find('U') != descr.npos;
    header.swapped = descr[0] == (std::endian::native == std::endian::little ? '>' : '<');
  }
  const auto holds_objects = [](const RecordField& field) { return field.type == "objects" || field.type == "record"; };
  const auto& fields = header.records.fields;
  if (descr == "[" && std::none_of(fields.begin(), fields.end(), holds_objects)) {
    header.type = "structured";
    header.obstacle = fields.empty() ? "expected fields of numbers, found a structured array without fields"
                                     : refusal_of_fields(header.records);
    return;
  }
  if (descr == "[") {
    header.obstacle =
        "expected fields of numbers, found Python objects or records within records; save the fields that are needed: "
        "numpy.save(FILE, numpy.lib.recfunctions.structured_to_unstructured(x[['a', 'b']]))";
  } else if (type.name == "objects") {
    header.obstacle =
        "expected numbers, found Python objects, a pickle, which is never loaded; save numbers: "
        "numpy.save(FILE, x.astype(numpy.float64)), or texts, as labels: numpy.save(FILE, x.astype(str))";
  } else if (type.name == "complex") {
    header.obstacle = "expected numbers, found complex numbers; save real and imaginary parts as columns";
  } else if (type.name == "text") {
    header.obstacle = "expected numbers, found text; save numbers: x.astype(numpy.float64)";
  } else {
    header.type = quoted(descr, 60);
    header.obstacle = fmt::format(
        "expected numbers (float16, bfloat16, float32, float64, bool, or integers of 8, 16, 32 or "
        "64 bits), found the type '{}'; save x.astype(numpy.float64)",
        header.type);
  }
}

}  // namespace

NumpyHeader read_numpy_header(std::string_view begin, const std::string& name) {
  constexpr std::string_view magic("\x93NUMPY");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(begin[i])); };
  NumpyHeader header;
  if (!begin.starts_with(magic) || begin.size() < 12)
    Parser(begin, name).fail("its first bytes are not those of a NumPy array");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    Parser(begin, name).fail(fmt::format("expected version 1, 2 or 3, found {}.{}", version, byte(7)));
  }
  const std::size_t at = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > begin.size() - at) {
    Parser(begin, name).fail(fmt::format("expected {} bytes of it, found {}", length, begin.size() - at));
  }
  std::string descr;
  Parser(begin.substr(at, length), name).parse(header, descr);
  header.bytes = static_cast<std::int64_t>(at + length);
  set_type(header, descr);
  return header;
}

std::string damage(const NumpyHeader& header, std::int64_t stored) {
  const bool records = !header.records.fields.empty();
  if (!header.element && !records) return "";
  if (std::string problem = refusal_of_size(header.shape); !problem.empty()) return problem;
  std::int64_t bytes = records ? header.records.bytes : size_of(header.element->number);
  for (const std::int64_t size : header.shape) bytes = capped_product(bytes, size);
  if (bytes != stored) {
    return fmt::format(
        "declared as {} {} ({} bytes), but {} bytes are stored; {}", show_shape(header.shape), header.type, bytes,
        stored, bytes > stored ? "it is cut off: copy or save it again" : "save each array in a file of its own");
  }
  return "";
}

std::string refusal(const NumpyHeader& header, std::int64_t stored, bool vector_as_column) {
  const bool records = !header.records.fields.empty();
  if (!header.obstacle.empty() || (!header.element && !records)) return header.obstacle;
  if (std::string problem = damage(header, stored); !problem.empty()) return problem;
  if (records && header.shape.size() != 1) {
    return fmt::format("expected 1 dimension of records, found {} ({}); save one field of them, x['{}'], or x.ravel()",
                       header.shape.size(), show_shape(header.shape), quoted(header.records.fields[0].name, 60));
  }
  return refusal_of_shape(header.shape, vector_as_column || records);
}

}  // namespace kith::data
