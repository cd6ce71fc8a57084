// The table of formats, names of the form FILE:DATASET, and reading a whole dataset.
#include "data/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "data/file_kind.h"
#include "data/hdf5_source.h"

namespace kith::data {
namespace {

constexpr FormatEntry kFormats[] = {
    {"HDF5", ".h5 .hdf5", "datasets of a file, named FILE:/path/in/file", is_hdf5, open_hdf5, list_hdf5},
};

bool exists(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0;
}

/// The format that knows the file. When none does, HDF5's way of opening says what is wrong.
const FormatEntry& format_of(const std::string& file) {
  const auto* found =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& f) { return f.recognises(file); });
  return found == std::end(kFormats) ? kFormats[0] : *found;
}

[[noreturn]] void refuse_bytes(const PointSource& source) {
  throw Error(ExitCode::internal,
              fmt::format("{}: bytes asked of a dataset that is held as {}", source.name(), name_of(source.held_as())));
}

}  // namespace

void PointSource::read(std::int64_t, MatrixView<std::uint8_t>) { refuse_bytes(*this); }
void PointSource::read(std::int64_t, MatrixView<std::int8_t>) { refuse_bytes(*this); }

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
  return format_of(place.file).open(place, options);
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
  if (place.dataset.empty() && format.recognises(place.file) && root_text(place.file, "format") == "kith-clusters") {
    place.dataset = "/centroids";
  }
  return format.open(place, {.precision = Precision::f64, .vector_as_column = true});
}

Matrix<double> read_centroids(const std::string& location) {
  return std::get<Matrix<double>>(read_all(*open_centroids(location)));
}

std::vector<DatasetInfo> list_datasets(const Location& place) { return format_of(place.file).list(place); }

std::vector<DatasetInfo> list_datasets(const std::string& file) { return list_datasets(Location{file, ""}); }

}  // namespace kith::data
