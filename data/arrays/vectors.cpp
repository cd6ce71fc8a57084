// Vector files. .fvecs, .ivecs, .bvecs (TEXMEX): each row after its length, an int32. .fbin, .u8bin, .i8bin, .ibin,
// .hbin, .f16bin (BIGANN): the numbers of rows and columns, as uint32 or uint64, then the rows. All are little-endian.
// An .ibin with twice the size that its header gives is a ground truth: neighbours as int32, then distances as float32.
// So is a file of any other name with the size of a ground truth.
#include "data/arrays/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/format/raw_rows.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/little_endian.h"

namespace kith::data {
namespace {

struct VectorFormat {
  std::string_view extension;
  Number number;
  bool lengths;  // a length before each row, no header
};

constexpr VectorFormat kVectorFormats[] = {
    {".fvecs", Number::float32, true}, {".ivecs", Number::int32, true},   {".bvecs", Number::uint8, true},
    {".fbin", Number::float32, false}, {".u8bin", Number::uint8, false},  {".i8bin", Number::int8, false},
    {".ibin", Number::int32, false},   {".hbin", Number::float16, false}, {".f16bin", Number::float16, false},
};

/// The ground truth files that BIGANN publishes have no common extension.
constexpr VectorFormat kGroundTruth{"", Number::int32, false};

/// Whether the file has the size that its first two uint32, n and k, give: n x k neighbours and distances.
bool is_ground_truth(const std::string& file) {
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

const VectorFormat* format_of_name(const std::string& file) {
  const auto* format = std::find_if(std::begin(kVectorFormats), std::end(kVectorFormats),
                                    [&](const VectorFormat& f) { return has_ending(file, f.extension); });
  return format == std::end(kVectorFormats) ? nullptr : format;
}

std::uint64_t read_number(const InputBytes& input, std::int64_t at, int bytes) {
  std::byte raw[8];
  input.read(at, bytes, raw);
  return little_endian(raw, bytes);
}

RawTable table_with_lengths(const InputBytes& input, const VectorFormat& format) {
  constexpr std::int64_t kLength = 4;
  if (input.size() < kLength) {
    refuse_input(input.name(),
                 fmt::format("expected the length of a vector, 4 bytes, found a file of {} bytes; copy or "
                             "create it again",
                             input.size()));
  }
  RawTable table;
  table.element = {format.number, std::endian::native != std::endian::little};
  table.order = RawTable::rows_with_length;
  table.columns = static_cast<std::int32_t>(read_number(input, 0, kLength));
  if (table.columns <= 0 || table.row_bytes() > input.size()) {
    refuse_input(input.name(),
                 fmt::format("expected the length of the first vector, found {} in a file of {} bytes; is it "
                             "a {} file?",
                             table.columns, input.size(), format.extension));
  }
  table.rows = input.size() / table.row_bytes();
  if (const std::int64_t rest = input.size() % table.row_bytes(); rest != 0) {
    refuse_input(input.name(),
                 fmt::format("expected records of {} bytes, like record 1 with its {} values, found {} bytes "
                             "after record {} (counted from 1); it is cut off, or its vectors differ in "
                             "length: copy or create it again",
                             table.row_bytes(), table.columns, rest, table.rows));
  }
  return table;
}

/// The tables of a file with a header: one matrix, or the neighbours and their distances of a BIGANN ground truth.
std::vector<RawTable> tables_with_header(const InputBytes& input, const VectorFormat& format) {
  std::string declared;
  for (const int width : {4, 8}) {
    if (input.size() < 2 * width) continue;
    const std::uint64_t rows = read_number(input, 0, width), columns = read_number(input, width, width);
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    if (declared.empty()) declared = fmt::format("{} x {}", rows, columns);
    if (!refusal_of_size(shape).empty() || !refusal_of_shape(shape, false).empty()) continue;
    RawTable table;
    table.element = {format.number, std::endian::native != std::endian::little};
    table.rows = shape[0];
    table.columns = shape[1];
    table.at = 2 * width;
    const std::int64_t size = input.size() - table.at;
    if (size == table.bytes()) return {table};
    if (format.number == Number::int32 && size % 2 == 0 && size / 2 == table.bytes()) {
      RawTable distances = table;
      distances.element.number = Number::float32;
      distances.at += table.bytes();
      table.name = "/neighbors";
      distances.name = "/distances";
      return {table, distances};
    }
  }
  refuse_input(input.name(),
               fmt::format("expected a header of rows and columns (two uint32 or two uint64) and as many values of {}, "
                           "found {} bytes{}; it is cut off, or not of the type of its extension {}: copy it again, or "
                           "name it by its type",
                           name_of(format.number), input.size(),
                           declared.empty() ? "" : fmt::format(", which begin with {}", declared), format.extension));
}

/// All tables of the file; only those of a ground truth have names.
std::vector<RawTable> tables_of(const InputBytes& input) {
  const VectorFormat* format = format_of_name(input.name());
  if (format == nullptr && is_ground_truth(input.name())) return tables_with_header(input, kGroundTruth);
  if (format == nullptr) {
    refuse_input(input.name(), "expected the extension of a vector file, such as .fvecs or .fbin; name it by its type");
  }
  return format->lengths ? std::vector{table_with_lengths(input, *format)} : tables_with_header(input, *format);
}

std::string full_name(const RawTable& table, const std::string& file) {
  return table.name.empty() ? file : fmt::format("{}:{}", file, table.name);
}

}  // namespace

bool is_vectors(const std::string& file) { return format_of_name(file) != nullptr || is_ground_truth(file); }

std::unique_ptr<PointSource> open_vectors(const Location& location, const ReadOptions& options) {
  InputBytes input = InputBytes::open(location.file, "a vector file");
  const std::vector<RawTable> tables = tables_of(input);
  const bool rooted = location.dataset.empty() || location.dataset.starts_with('/');
  const std::string requested = rooted ? location.dataset : fmt::format("/{}", location.dataset);
  for (RawTable table : tables) {
    if (!requested.empty() && requested != table.name) continue;
    table.name = full_name(table, location.file);
    return open_raw(std::move(input), table, options);
  }
  refuse_input(location.file,
               fmt::format("no such dataset: '{}'; it holds {}", location.dataset,
                           tables.size() > 1 ? "/neighbors and /distances" : "one matrix, without a name"));
}

std::vector<DatasetInfo> list_vectors(const Location& location, const ReadOptions&) {
  const InputBytes input = InputBytes::open(location.file, "a vector file");
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
