// Files of vectors. .fvecs, .ivecs, .bvecs (TEXMEX): each row after its length, an int32. .fbin, .u8bin, .i8bin, .ibin,
// .hbin, .f16bin (BIGANN): numbers of rows and columns, as uint32 or uint64, then the rows. All are little-endian. An
// .ibin that is twice as long as its numbers say holds an answer: neighbours as int32, then distances as float32. So
// does a file of any other name whose size is that of an answer.
#include "data/arrays/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/arrays/raw_rows.h"
#include "data/io/file_kind.h"
#include "data/shape.h"

namespace kith::data {
namespace {

struct Kind {
  std::string_view extension;
  Number number;
  bool lengths;  // before each row, rather than a header
};

constexpr Kind kKinds[] = {
    {".fvecs", Number::float32, true}, {".ivecs", Number::int32, true},   {".bvecs", Number::uint8, true},
    {".fbin", Number::float32, false}, {".u8bin", Number::uint8, false},  {".i8bin", Number::int8, false},
    {".ibin", Number::int32, false},   {".hbin", Number::float16, false}, {".f16bin", Number::float16, false},
};

/// The answers that BIGANN publishes have no common extension.
constexpr Kind kAnswer{"", Number::int32, false};

/// Does the size follow from the two uint32 at the beginning: for each of n x k cells a neighbour and a distance?
bool is_answer(const std::string& file) {
  constexpr std::size_t kHeader = 8;
  const std::string bytes = first_bytes(file, kHeader);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || bytes.size() < kHeader || size <= kHeader) return false;
  std::uint32_t numbers[2];
  std::memcpy(numbers, bytes.data(), kHeader);
  const std::uint64_t cells = std::uint64_t{numbers[0]} * numbers[1];
  return (size - kHeader) % 8 == 0 && (size - kHeader) / 8 == cells;
}

const Kind* kind_of_name(const std::string& file) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& kind) { return has_ending(file, kind.extension); });
  return found == std::end(kKinds) ? nullptr : found;
}

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", file, what));
}

std::uint64_t little_endian(const InputBytes& input, std::int64_t at, int bytes) {
  std::byte raw[8];
  input.read(at, bytes, raw);
  std::uint64_t value = 0;
  for (int b = 0; b < bytes; ++b) value |= std::to_integer<std::uint64_t>(raw[b]) << (8 * b);
  return value;
}

RawTable table_with_lengths(const InputBytes& input, const Kind& kind) {
  constexpr std::int64_t kLength = 4;
  if (input.size() < kLength) {
    fail(input.name(), fmt::format("expected the length of a vector, 4 bytes, found a file of {}", input.size()));
  }
  RawTable table;
  table.element = {kind.number, std::endian::native != std::endian::little};
  table.order = RawTable::rows_with_length;
  table.columns = static_cast<std::int32_t>(little_endian(input, 0, kLength));
  if (table.columns <= 0 || table.row_bytes() > input.size()) {
    fail(input.name(), fmt::format("expected the length of the first vector, found {} in a file of {} bytes; is it a "
                                   "{} file?",
                                   table.columns, input.size(), kind.extension));
  }
  table.rows = input.size() / table.row_bytes();
  if (const std::int64_t rest = input.size() % table.row_bytes(); rest != 0) {
    fail(input.name(), fmt::format("expected records of {} bytes, as the {} values of record 0 take, found {} bytes "
                                   "behind record {} (counted from 0); it is cut off, or its vectors "
                                   "differ in length: copy or make it again",
                                   table.row_bytes(), table.columns, rest, table.rows - 1));
  }
  return table;
}

/// The tables of a file with a header: one, or neighbours and distances.
std::vector<RawTable> tables_with_header(const InputBytes& input, const Kind& kind) {
  std::string declared;
  for (const int width : {4, 8}) {
    if (input.size() < 2 * width) continue;
    const std::uint64_t rows = little_endian(input, 0, width), columns = little_endian(input, width, width);
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    if (declared.empty()) declared = fmt::format("{} x {}", rows, columns);
    if (!refusal_of_size(shape).empty() || !refusal_of_shape(shape, false).empty()) continue;
    RawTable table;
    table.element = {kind.number, std::endian::native != std::endian::little};
    table.rows = shape[0];
    table.columns = shape[1];
    table.at = 2 * width;
    const std::int64_t size = input.size() - table.at;
    if (size == table.bytes()) return {table};
    if (kind.number == Number::int32 && size % 2 == 0 && size / 2 == table.bytes()) {
      RawTable distances = table;
      distances.element.number = Number::float32;
      distances.at += table.bytes();
      table.name = "/neighbors";
      distances.name = "/distances";
      return {table, distances};
    }
  }
  fail(input.name(),
       fmt::format(
           "expected a header of rows and columns (two uint32 or two uint64) and as many values of {}, found {} "
           "bytes{}; it is cut off, or of another type than its name {} says: copy it again, or name it by its type",
           name_of(kind.number), input.size(), declared.empty() ? "" : fmt::format(", which begin with {}", declared),
           kind.extension));
}

/// With names as in messages and results.
std::vector<RawTable> tables_of(const InputBytes& input) {
  const Kind* kind = kind_of_name(input.name());
  if (kind == nullptr && is_answer(input.name())) return tables_with_header(input, kAnswer);
  if (kind == nullptr) fail(input.name(), "expected the name of a file of vectors, such as .fvecs or .fbin");
  return kind->lengths ? std::vector{table_with_lengths(input, *kind)} : tables_with_header(input, *kind);
}

std::string own_name(const RawTable& table, const std::string& file) {
  return table.name.empty() ? file : fmt::format("{}:{}", file, table.name);
}

}  // namespace

bool is_vectors(const std::string& file) { return kind_of_name(file) != nullptr || is_answer(file); }

std::unique_ptr<PointSource> open_vectors(const Location& location, const ReadOptions& options) {
  InputBytes input = InputBytes::open(location.file, "a file of vectors");
  const std::vector<RawTable> tables = tables_of(input);
  const bool rooted = location.dataset.empty() || location.dataset.starts_with('/');
  const std::string wanted = rooted ? location.dataset : fmt::format("/{}", location.dataset);
  for (RawTable table : tables) {
    if (!wanted.empty() && wanted != table.name) continue;
    table.name = own_name(table, location.file);
    return open_raw(std::move(input), table, options);
  }
  fail(location.file, fmt::format("no such part: '{}'; it holds {}", location.dataset,
                                  tables.size() > 1 ? "/neighbors and /distances" : "one matrix, without a name"));
}

std::vector<DatasetInfo> list_vectors(const Location& place, const ReadOptions&) {
  const InputBytes input = InputBytes::open(place.file, "a file of vectors");
  std::vector<DatasetInfo> list;
  for (const RawTable& table : tables_of(input)) {
    DatasetInfo info;
    info.path = table.name;
    info.shape = {table.rows, table.columns};
    info.type = name_of(table.element.number);
    info.byte_order = size_of(table.element.number) > 1 ? "little" : "";
    info.layout = table.order == RawTable::rows_with_length ? "rows after their length" : "contiguous";
    info.stored_bytes = table.bytes();
    list.push_back(info);
  }
  return list;
}

}  // namespace kith::data
