// Opens datasets with a cache that suits how they are read, and numbers them.
#include "data/hdf5/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "data/format/shape.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

struct OpenDatasets {
  std::map<std::int64_t, OpenDataset> all;
  std::int64_t next = 0;
};

OpenDatasets& open_datasets() {
  static auto* const datasets = new OpenDatasets;  // never destroyed: HDF5 is not used at exit
  return *datasets;
}

/// A cache for one chunk, so that reading rows in order decodes each chunk once; none for chunks without filters, so
/// that the library reads single values of them (stored_rows.cpp). The dataset must be closed, or HDF5
/// would share the open one and its cache. Its path is checked already.
Handle open_with_cache(const Hdf5InputFile& file, const DatasetFacts& facts) {
  constexpr std::int64_t max_bytes = std::int64_t{256} << 20;
  constexpr std::int64_t min_bytes = std::int64_t{1} << 20;
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  if (facts.chunked) {
    std::int64_t bytes = facts.element || facts.has_records() ? facts.element_bytes() : sizeof(void*);
    for (const std::int64_t c : facts.chunk) bytes = capped_product(bytes, c);
    bytes = facts.info.filters.empty() ? 0 : std::clamp(bytes, min_bytes, max_bytes);
    H5Pset_chunk_cache(access.get(), 521, static_cast<std::size_t>(bytes), 1.0);
  }
  return Handle(H5Dopen2(file.id(), facts.info.path.c_str(), access.get()));
}

}  // namespace

std::int64_t keep_open(Hdf5InputFile file, DatasetFacts facts) {
  Handle dataset = open_with_cache(file, facts);
  if (!dataset) refuse_input(fmt::format("{}:{}", file.name(), facts.info.path), describe_damage(hdf5_reason()));
  Handle type(H5Dget_type(dataset.get()));
  OpenDatasets& open = open_datasets();
  open.all.emplace(open.next, OpenDataset{std::move(file), std::move(facts), std::move(dataset), std::move(type)});
  return open.next++;
}

OpenDataset& kept_open(std::int64_t id) {
  auto& all = open_datasets().all;
  const auto place = all.find(id);
  if (place == all.end()) throw Error(ExitCode::internal, "no dataset is open with this number");
  return place->second;
}

void close_dataset(std::int64_t id) { open_datasets().all.erase(id); }
void close_all_datasets() { open_datasets() = {}; }

// Asks the HDF5 library for the places of values, and reads what only the library can decode.

namespace {

/// The column names of centroids or medoids, from the result file that holds them.
std::vector<std::string> stored_names(const Hdf5InputFile& file, const std::string& path, std::int64_t columns) {
  const std::string last = parted(path).second;
  if (last != "centroids" && last != "centroids_original" && last != "medoids") return {};
  std::vector<std::string> names = split_lines(text_attribute(open_object(file, "/").get(), "columns"));
  if (std::ssize(names) != columns) names.clear();  // principal components have no names
  return names;
}

/// Whether the dataset is a matrix of a Loom file, which stores genes x cells.
bool is_matrix_of_loom(const Hdf5InputFile& file, const std::string& path) {
  if (path != "/matrix" && !path.starts_with("/layers/")) return false;
  const Handle root = open_object(file, "/");
  return has_link(root.get(), "matrix") && has_link(root.get(), "row_attrs") && has_link(root.get(), "col_attrs");
}

/// The place of contiguous values; nullopt if they have none, so that the library has to read them.
std::optional<std::int64_t> begin_of(const Hdf5InputFile& file, hid_t dataset, const DatasetFacts& facts) {
  if (facts.info.layout != "contiguous") return std::nullopt;
  const haddr_t begin = H5Dget_offset(dataset);  // undefined if no value was ever written
  const auto end = static_cast<haddr_t>(file.bytes());
  const auto bytes = static_cast<haddr_t>(facts.info.stored_bytes);
  if (begin == HADDR_UNDEF || bytes > end || begin > end - bytes) return std::nullopt;
  return static_cast<std::int64_t>(begin);
}

std::optional<FilterStep> step_of(hid_t creation, unsigned index) {
  unsigned flags = 0;
  unsigned config = 0;
  unsigned values[8] = {};
  std::size_t value_count = std::size(values);
  switch (H5Pget_filter2(creation, index, &flags, &value_count, values, 0, nullptr, &config)) {
    case H5Z_FILTER_DEFLATE:
      return FilterStep{FilterStep::deflate};
    case H5Z_FILTER_FLETCHER32:
      return FilterStep{FilterStep::fletcher32};
    case H5Z_FILTER_SHUFFLE:
      return FilterStep{FilterStep::shuffle, value_count > 0 ? std::int64_t{values[0]} : 1};
    case kLzfFilter:
      return FilterStep{FilterStep::lzf};
    case kZstdFilter:
      return FilterStep{FilterStep::zstd};
    default:
      return std::nullopt;
  }
}

/// The filters of chunks; nullopt if ChunkDecoder cannot decode them.
std::optional<std::vector<FilterStep>> steps_of(hid_t dataset, const DatasetFacts& facts) {
  if (!facts.chunked) return std::nullopt;
  const Handle creation(H5Dget_create_plist(dataset));
  unsigned options = 0;
  // Partial chunks at the edge can be stored unfiltered, and nothing in the file marks them.
  if (H5Pget_chunk_opts(creation.get(), &options) < 0 || (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0)
    return std::nullopt;
  std::vector<FilterStep> steps;
  for (std::size_t i = 0; i < facts.info.filters.size(); ++i) {
    const auto step = step_of(creation.get(), static_cast<unsigned>(i));
    if (!step) return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

StoredRows rows_of(Hdf5InputFile file, Handle dataset, const std::string& path, bool vector_as_column) {
  StoredRows rows;
  rows.facts = inspect(file, dataset.get(), path);
  if (const std::string problem = refusal(rows.facts, file.bytes(), vector_as_column); !problem.empty())
    refuse_input(fmt::format("{}:{}", file.name(), path), problem);
  require_chunk_memory(rows.facts, rows.facts.element_bytes(), fmt::format("{}:{}", file.name(), path));
  verify_dataset(file, dataset.get(), path);
  rows.file_bytes = file.bytes();
  rows.state = file.state();
  rows.names = stored_names(file, path, rows.facts.columns());
  rows.across = rows.facts.info.shape.size() == 2 && is_matrix_of_loom(file, path);
  if (rows.facts.info.shape.size() == 2) {
    rows.remark = has_attribute(dataset.get(), "flag_meanings")
                      ? "the values are codes of flags or classes, as the attribute flag_meanings says: distances "
                        "between codes mean nothing"
                      : kinds_of_features(file, path, rows.facts.columns());
    const std::int64_t features = rows.across ? rows.facts.rows() : rows.facts.columns();
    if (rows.names.empty() && !rows.facts.reversed) rows.names = names_of_features(file, path, features);
  }
  rows.begin = begin_of(file, dataset.get(), rows.facts);
  rows.steps = steps_of(dataset.get(), rows.facts);
  dataset = Handle();  // keep_open() opens it again
  if (!rows.begin) rows.id = keep_open(std::move(file), rows.facts);
  return rows;
}

std::string place_of(const OpenDataset& open) { return fmt::format("{}:{}", open.file.name(), open.facts.info.path); }

/// The place of a chunk without filters, found by reading its first value: the size in the file may be wrong.
ChunkPlace find_plain_chunk(const OpenDataset& open, const hsize_t* offset) {
  const hsize_t one[2] = {1, 1};
  const Handle in_file(H5Dget_space(open.dataset.get())), in_memory(H5Screate_simple(1, one, nullptr));
  std::vector<std::byte> value(H5Tget_size(open.type.get()));  // receives one that was never written
  bool read = false;
  const auto bytes = find_stored_bytes([&] {
    read = H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, offset, nullptr, one, nullptr) >= 0 &&
           H5Dread(open.dataset.get(), open.type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, value.data()) >= 0;
  });
  if (!read) throw Error(ExitCode::data, hdf5_reason());
  return bytes ? ChunkPlace{bytes->begin, 0, 0} : ChunkPlace{};
}

ChunkPlace find_filtered_chunk(const OpenDataset& open, const hsize_t* offset) {
  hsize_t size = 0;  // stays 0 for a chunk that was never written; some versions of HDF5 report an error for it
  if (H5Dget_chunk_storage_size(open.dataset.get(), offset, &size) < 0) {
    const std::string reason = hdf5_reason();
    if (reason.find("not allocated") == reason.npos) throw Error(ExitCode::data, reason);
    size = 0;
  }
  ChunkPlace place;
  if (size == 0) return place;
  std::byte nothing{};  // receives no bytes
  bool read = false;
  const auto bytes = find_stored_bytes(
      [&] { read = H5Dread_chunk(open.dataset.get(), H5P_DEFAULT, offset, &place.skipped, &nothing) >= 0; });
  if (!read || !bytes) throw Error(ExitCode::data, read ? "its place in the file is unknown" : hdf5_reason());
  place.begin = bytes->begin;
  place.size = bytes->size;
  return place;
}

}  // namespace

StoredRows find_rows(const std::string& name, const std::string& dataset, bool vector_as_column) {
  Hdf5InputFile file(name);
  const std::string path = resolved_path(file, dataset);
  Handle object = open_dataset(file, path);
  return rows_of(std::move(file), std::move(object), path, vector_as_column);
}

FoundPoints find_points(const std::string& name, const std::string& dataset, bool vector_as_column) {
  Hdf5InputFile file(name);
  const std::string path = dataset.empty() ? only_dataset(file, vector_as_column) : resolved_path(file, dataset);
  // AnnData before version 0.7 stores all of obsm as one dataset of records: /obsm/X_pca is a field of it.
  auto [object, field] = find_object(file, path);
  if (!field.empty()) {
    StoredRows rows = rows_of(std::move(file), std::move(object), parted(path).first, vector_as_column);
    rows.field = field;
    return {.dense = std::move(rows)};
  }
  if (H5Iget_type(object.get()) == H5I_DATASET)
    return {.dense = rows_of(std::move(file), std::move(object), path, vector_as_column)};
  if (const std::string table = table_of_pandas(file, hard_link_path(object.get())); !table.empty()) {
    Handle dataset = open_dataset(file, table);
    return {.dense = rows_of(std::move(file), std::move(dataset), table, vector_as_column)};
  }
  if (auto sparse = sparse_group(file, hard_link_path(object.get()))) return {.sparse = std::move(sparse)};
  if (auto frame = frame_group(file, hard_link_path(object.get()))) return {.frame = std::move(frame)};
  refuse_pandas_frame(file, path);
  const std::vector<DatasetInfo> all = list_open_file(file);
  std::vector<DatasetInfo> inside;
  std::ranges::copy_if(all, std::back_inserter(inside), [&path](const DatasetInfo& info) {
    return path != "/" && info.path.starts_with(path + "/") && is_of_kind(info, TableKind::matrix, false);
  });
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("expected a dataset, found {}; name a dataset, the {} holds {}", describe_kind(object.get()),
                           inside.empty() ? "file" : "group", show_datasets(inside.empty() ? all : inside)));
}

std::vector<ChunkPlace> find_chunks(std::int64_t id, std::int64_t first, std::int64_t count) {
  const OpenDataset& open = kept_open(id);
  const std::int64_t chunk_rows = open.facts.chunk.at(0);
  const std::int64_t chunk_columns = open.facts.chunk.size() == 2 ? open.facts.chunk[1] : 1;
  const std::int64_t across = (open.facts.columns() + chunk_columns - 1) / chunk_columns;  // chunks beside each other
  std::vector<ChunkPlace> places;
  places.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::int64_t row = i / across, column = i % across;
    const hsize_t offset[2] = {static_cast<hsize_t>(row * chunk_rows), static_cast<hsize_t>(column * chunk_columns)};
    try {
      places.push_back(open.facts.info.filters.empty() ? find_plain_chunk(open, offset)
                                                       : find_filtered_chunk(open, offset));
    } catch (const Error& error) {
      refuse_input(place_of(open), fmt::format("data damaged in chunk ({}, {}): {}; copy or create the file again", row,
                                               column, error.what()));
    }
  }
  return places;
}

std::string read_fill_value(std::int64_t id) {
  const OpenDataset& open = kept_open(id);
  std::string value(H5Tget_size(open.type.get()), '\0');
  const Handle creation(H5Dget_create_plist(open.dataset.get()));
  H5D_fill_value_t kind = H5D_FILL_VALUE_DEFAULT;
  H5Pfill_value_defined(creation.get(), &kind);
  if (kind == H5D_FILL_VALUE_USER_DEFINED) H5Pget_fill_value(creation.get(), open.type.get(), value.data());
  return value;
}

std::string read_rows(std::int64_t id, std::int64_t first, std::int64_t count) {
  const OpenDataset& open = kept_open(id);
  const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
  const hsize_t shape[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(open.facts.columns())};
  const int rank = static_cast<int>(open.facts.info.shape.size());
  const Handle in_file(H5Dget_space(open.dataset.get()));
  const Handle in_memory(H5Screate_simple(rank, shape, nullptr));
  std::string bytes(static_cast<std::size_t>(count * open.facts.columns()) * H5Tget_size(open.type.get()), '\0');
  if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, shape, nullptr) < 0 ||
      H5Dread(open.dataset.get(), open.type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, bytes.data()) < 0) {
    refuse_input(place_of(open),
                 fmt::format("data damaged in rows {} to {} (counted from 1): {}; copy or create the file again",
                             first + 1, first + count, hdf5_reason()));
  }
  return bytes;
}

}  // namespace kith::data
