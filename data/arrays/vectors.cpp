// Vector files. .fvecs, .ivecs, .bvecs (TEXMEX): each row after its length, an int32. .fbin, .u8bin, .i8bin, .ibin,
// .hbin, .f16bin (BIGANN): the numbers of rows and columns, as uint32 or uint64, then the rows. All are little-endian.
// An .ibin with twice the size that its header gives is a ground truth: neighbours as int32, then distances as float32.
// So is a file of any other name with the size of a ground truth.
#include "data/format/formats.h"

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
#include "data/io/numbers.h"

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

constexpr std::size_t kHeader = 8;

/// Whether `fits` holds for the first two uint32 of the file and the number of bytes that follow.
template <class Fits>
bool has_size(const std::string& file, const Fits& fits) {
  const std::string bytes = first_bytes(file, kHeader);
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || bytes.size() < kHeader || size <= kHeader) return false;
  std::uint32_t numbers[2];
  std::memcpy(numbers, bytes.data(), kHeader);
  return fits(std::uint64_t{numbers[0]}, std::uint64_t{numbers[1]}, std::uint64_t{size - kHeader});
}

/// Whether the file has the size that its first two uint32, n and k, give: n x k neighbours and distances; and the
/// first neighbours are different rows. A file of float64 has the same size.
bool is_ground_truth(const std::string& file) {
  constexpr std::size_t kMostLooked = 128;
  const std::string bytes = first_bytes(file, kHeader + kMostLooked * sizeof(std::int32_t));
  const auto are_rows = [&](std::size_t count) {
    std::vector<std::int32_t> rows(std::min(count, (bytes.size() - kHeader) / sizeof(std::int32_t)));
    std::memcpy(rows.data(), bytes.data() + kHeader, rows.size() * sizeof(std::int32_t));
    std::erase(rows, -1);  // none
    std::sort(rows.begin(), rows.end());
    return rows.empty() || (rows[0] >= 0 && std::adjacent_find(rows.begin(), rows.end()) == rows.end());
  };
  return has_size(file, [&](std::uint64_t n, std::uint64_t k, std::uint64_t size) {
    return size % 8 == 0 && size / 8 == n * k && are_rows(static_cast<std::size_t>(k));
  });
}

/// The same of the answers of a search within a radius, n and m: n counts, then m neighbours and m distances.
bool is_range_answer(const std::string& file) {
  return has_size(
      file, [](std::uint64_t n, std::uint64_t m, std::uint64_t bytes) { return n > 0 && bytes == 4 * n + 8 * m; });
}

constexpr std::string_view kCrop = ".crop_nb_";

/// The rows of a file that a download ended early, as big-ann-benchmarks names it, FILE.u8bin.crop_nb_ROWS; -1 for
/// others. Its header may still have the rows of the whole file.
std::int64_t cropped_rows(const std::string& file) {
  const auto at = file.rfind(kCrop);
  if (at == file.npos) return -1;
  std::int64_t rows = 0;
  return read_number(std::string_view(file).substr(at + kCrop.size()), rows) && rows > 0 ? rows : -1;
}

const VectorFormat* format_of_name(std::string file) {
  if (cropped_rows(file) > 0) file.resize(file.rfind(kCrop));
  const auto* format = std::find_if(std::begin(kVectorFormats), std::end(kVectorFormats),
                                    [&](const VectorFormat& f) { return has_ending(file, f.extension); });
  return format == std::end(kVectorFormats) ? nullptr : format;
}

std::uint64_t read_number(const InputBytes& input, std::int64_t at, int bytes) {
  std::byte raw[8];
  input.read(at, bytes, raw);
  return little_endian(raw, bytes);
}

/// Says what the file is if its first bytes are those of another kind, as of a pointer of Git LFS; else the message.
[[noreturn]] void refuse_table(const InputBytes& input, const std::string& message) {
  constexpr std::size_t kSignature = 64;  // bytes
  if (has_signature(first_bytes(input.name(), kSignature))) refuse_unknown_kind(input.name());
  refuse_input(input.name(), message);
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
    refuse_table(input, fmt::format("expected the length of the first vector, found {} in a file of {} bytes; is it "
                                    "a {} file?",
                                    table.columns, input.size(), format.extension));
  }
  table.rows = input.size() / table.row_bytes();
  if (const std::int64_t rest = input.size() % table.row_bytes(); rest != 0) {
    refuse_table(input, fmt::format("expected records of {} bytes, like record 1 with its {} values, found {} bytes "
                                    "after record {} (counted from 1); it is cut off, or its vectors differ in "
                                    "length: copy or create it again",
                                    table.row_bytes(), table.columns, rest, table.rows));
  }
  return table;
}

/// The tables of a file with a header: one matrix, or the neighbours and their distances of a BIGANN ground truth.
std::vector<RawTable> tables_with_header(const InputBytes& input, const VectorFormat& format) {
  std::string declared, cut;
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
    const std::int64_t whole_rows = size / table.row_bytes(), cropped = cropped_rows(input.name());
    if (whole_rows == cropped && size % table.row_bytes() == 0) {
      table.rows = whole_rows;
      return {table};
    }
    if (width == 4 && whole_rows > 0 && whole_rows < table.rows && size % table.row_bytes() == 0) {
      cut = fmt::format(
          "; if its first {} rows were copied on purpose, let the header say so: python3 -c \"import "
          "numpy; numpy.memmap('IN', 'uint32', 'r+', shape=2)[0] = {}\"",
          whole_rows, whole_rows);
    }
    if (format.number == Number::int32 && size % 2 == 0 && size / 2 == table.bytes()) {
      RawTable distances = table;
      distances.element.number = Number::float32;
      distances.at += table.bytes();
      table.name = "/neighbors";
      distances.name = "/distances";
      return {table, distances};
    }
  }
  refuse_table(
      input,
      fmt::format("expected a header of rows and columns (two uint32 or two uint64) and as many values of {}, "
                  "found {} bytes{}; it is cut off, or not of the type of its extension {}: copy it again, or "
                  "name it by its type{}",
                  name_of(format.number), input.size(),
                  declared.empty() ? "" : fmt::format(", which begin with {}", declared), format.extension, cut));
}

/// All tables of the file; only those of a ground truth have names.
std::vector<RawTable> tables_of(const InputBytes& input) {
  const VectorFormat* format = format_of_name(input.name());
  if (format == nullptr && is_ground_truth(input.name())) return tables_with_header(input, kGroundTruth);
  if ((format == nullptr || (format->number == Number::int32 && !format->lengths)) && is_range_answer(input.name())) {
    refuse_input(
        input.name(),
        "expected neighbours of the same number for each query, found the answers of a search within a radius; "
        "convert it: python3 -c \"import numpy; f = open('IN', 'rb'); n, m = numpy.fromfile(f, 'u4', 2); "
        "numpy.savez('OUT.npz', counts=numpy.fromfile(f, 'i4', n), neighbors=numpy.fromfile(f, 'i4', m), "
        "distances=numpy.fromfile(f, 'f4', m))\"");
  }
  if (format == nullptr) {
    refuse_input(input.name(), "expected the extension of a vector file, such as .fvecs or .fbin; name it by its type");
  }
  return format->lengths ? std::vector{table_with_lengths(input, *format)} : tables_with_header(input, *format);
}

std::string full_name(const RawTable& table, const std::string& file) {
  return table.name.empty() ? file : fmt::format("{}:{}", file, table.name);
}

}  // namespace

bool is_vectors(const std::string& file) {
  return format_of_name(file) != nullptr || is_ground_truth(file) || is_range_answer(file);
}

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
    list.push_back({.path = table.name,
                    .shape = {table.rows, table.columns},
                    .type = name_of(table.element.number),
                    .byte_order = size_of(table.element.number) > 1 ? "little" : "",
                    .layout = table.order == RawTable::rows_with_length ? "rows after their length" : "contiguous",
                    .stored_bytes = table.bytes()});
  }
  return list;
}

}  // namespace kith::data
