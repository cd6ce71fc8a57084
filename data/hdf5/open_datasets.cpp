// Opens datasets with a cache that suits how they are read, and numbers them.
#include "data/hdf5/open_datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "data/format/shape.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

std::map<std::int64_t, OpenDataset>& all_open() {
  static auto* const datasets = new std::map<std::int64_t, OpenDataset>;  // never destroyed: HDF5 is not used at exit
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
  static std::int64_t next = 0;
  Handle dataset = open_with_cache(file, facts);
  if (!dataset) refuse_input(fmt::format("{}:{}", file.name(), facts.info.path), describe_damage(hdf5_reason()));
  Handle type(H5Dget_type(dataset.get()));
  all_open().emplace(next, OpenDataset{std::move(file), std::move(facts), std::move(dataset), std::move(type)});
  return next++;
}

OpenDataset& kept_open(std::int64_t id) {
  const auto place = all_open().find(id);
  if (place == all_open().end()) throw Error(ExitCode::internal, "no dataset is open with this number");
  return place->second;
}

void close_dataset(std::int64_t id) { all_open().erase(id); }

}  // namespace kith::data
