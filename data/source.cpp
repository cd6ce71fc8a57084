// The table of formats, names of the form FILE:DATASET, and reading a whole dataset.
#include "data/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/arrays/numpy.h"
#include "data/arrays/vectors.h"
#include "data/column_choice.h"
#include "data/hdf5/hdf5_source.h"
#include "data/io/file_kind.h"
#include "data/text/text.h"
#include "data/transposed.h"

namespace kith::data {
namespace {

constexpr FormatEntry kFormats[] = {
    {"HDF5", ".h5 .hdf5 .h5ad .mat", "datasets and sparse matrices of a file, named FILE:/path/in/file", is_hdf5,
     open_hdf5, list_hdf5},
    {"NumPy", ".npy", "an array of numbers, of either order", is_npy, open_npy, list_npy},
    {"NumPy", ".npz", "arrays of an archive, named FILE:NAME", is_npz, open_npz, list_npz},
    {"vectors", ".fvecs .ivecs .bvecs .fbin .u8bin .i8bin .ibin .hbin .f16bin",
     "little-endian rows behind their length, or behind one header", is_vectors, open_vectors, list_vectors},
    {"text", ".csv .tsv .txt .gz", "numbers between commas, tabs, semicolons or blanks; - is standard input",
     is_text_table, open_text, list_text, true},
};

bool exists(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0;
}

/// Does the file's name end with one of these?
bool has_extension(const std::string& file, std::string_view extensions) {
  for (std::size_t begin = 0; begin < extensions.size();) {
    const std::size_t end = std::min(extensions.find(' ', begin), extensions.size());
    if (has_ending(file, extensions.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

/// The format that knows the file, or whose name it has: its way of opening then says what is wrong.
const FormatEntry& format_of(const std::string& file) {
  for (const FormatEntry& format : kFormats) {
    if (format.recognises(file)) return format;
  }
  for (const FormatEntry& format : kFormats) {
    if (has_extension(file, format.extensions)) return format;
  }
  return kFormats[0];
}

template <class T>
void check(const PointSource& source, Number asked, std::int64_t first, const MatrixView<T>& out) {
  const Number by_class = source.value_class() == ValueClass::f32 ? Number::float32 : Number::float64;
  if ((asked == by_class || asked == source.held_as()) && first >= 0 && out.rows >= 0 &&
      out.rows <= source.rows() - first && out.columns == source.columns()) {
    return;
  }
  throw Error(ExitCode::internal, fmt::format("{}: {} rows of {} {} columns from row {} asked of {} x {} {}",
                                              source.name(), out.rows, out.columns, name_of(asked), first,
                                              source.rows(), source.columns(), name_of(source.held_as())));
}

[[noreturn]] void refuse_bytes(const PointSource& source) {
  throw Error(ExitCode::internal,
              fmt::format("{}: bytes asked of a dataset that is held as {}", source.name(), name_of(source.held_as())));
}

}  // namespace

void PointSource::read(std::int64_t, MatrixView<std::uint8_t>) { refuse_bytes(*this); }
void PointSource::read(std::int64_t, MatrixView<std::int8_t>) { refuse_bytes(*this); }

void check_request(const PointSource& source, std::int64_t first, const MatrixView<float>& out) {
  check(source, Number::float32, first, out);
}
void check_request(const PointSource& source, std::int64_t first, const MatrixView<double>& out) {
  check(source, Number::float64, first, out);
}
void check_request(const PointSource& source, std::int64_t first, const MatrixView<std::uint8_t>& out) {
  check(source, Number::uint8, first, out);
}
void check_request(const PointSource& source, std::int64_t first, const MatrixView<std::int8_t>& out) {
  check(source, Number::int8, first, out);
}

std::span<const FormatEntry> formats() { return kFormats; }

Location parse_location(const std::string& text) {
  if (exists(text)) return {text, ""};
  // From the right, so that "a:b.h5:/train" finds "a:b.h5" and "points.h5:/a:b" still finds "points.h5".
  for (auto colon = text.rfind(':'); colon != text.npos && colon > 0; colon = text.rfind(':', colon - 1)) {
    if (exists(text.substr(0, colon))) return {text.substr(0, colon), text.substr(colon + 1)};
  }
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::unique_ptr<PointSource> open_points(const std::string& location, const ReadOptions& options) {
  const Location place = parse_location(location);
  const FormatEntry& format = format_of(place.file);
  std::unique_ptr<PointSource> source = format.open(place, options);
  if (!format.chooses_columns) source = with_columns(std::move(source), options);
  return options.transpose ? transposed(std::move(source)) : std::move(source);
}

PointsMatrix room_for(const PointSource& source) {
  const std::int64_t rows = source.rows(), columns = source.columns();
  switch (source.held_as()) {
    case Number::uint8:
      return Matrix<std::uint8_t>(rows, columns);
    case Number::int8:
      return Matrix<std::int8_t>(rows, columns);
    case Number::float64:
      return Matrix<double>(rows, columns);
    default:
      return Matrix<float>(rows, columns);
  }
}

PointsMatrix read_all(PointSource& source) {
  PointsMatrix all = room_for(source);
  std::visit([&source](auto& matrix) { source.read(0, matrix.view()); }, all);
  return all;
}

std::unique_ptr<PointSource> open_centroids(const std::string& location) {
  Location place = parse_location(location);
  const FormatEntry& format = format_of(place.file);
  if (place.dataset.empty() && is_hdf5(place.file) && root_text(place.file, "format") == "kith-clusters") {
    place.dataset = "/centroids";
  }
  return format.open(place, {.precision = Precision::f64, .vector_as_column = true});
}

Matrix<double> read_centroids(const std::string& location) {
  return std::get<Matrix<double>>(read_all(*open_centroids(location)));
}

std::vector<DatasetInfo> list_datasets(const Location& place, const ReadOptions& options) {
  return format_of(place.file).list(place, options);
}

std::vector<DatasetInfo> list_datasets(const std::string& file) { return list_datasets(Location{file, ""}); }

}  // namespace kith::data
