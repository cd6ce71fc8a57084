// Computes the checksums of results, and compares them with the stored ones.
#include "data/hdf5/hdf5_checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/checksum.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

std::vector<hsize_t> extent_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset));
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  return shape;
}

/// Reads rows [first, first + rows) in the type of the file.
bool read_rows(hid_t dataset, hid_t type, hsize_t first, std::vector<hsize_t> count, void* out) {
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = first;
  const Handle in_file(H5Dget_space(dataset));
  const Handle in_memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
  return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
         H5Dread(dataset, type, in_memory.get(), in_file.get(), H5P_DEFAULT, out) >= 0;
}

void add_text(Checksum& sum, const std::string& text) { sum.add(text.c_str(), text.size() + 1); }

/// Adds the bytes of the value as they are in the file; of a text of variable length those of the text.
bool add_attribute(Checksum& sum, hid_t object, const std::string& name) {
  const StoredAttribute attribute(object, name);
  const hid_t type = attribute.type.get();
  if (!attribute.type) return false;
  add_text(sum, name);
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (!attribute.read(type, &text)) return false;
    add_text(sum, text != nullptr ? text : "");
    H5free_memory(text);
    return true;
  }
  std::vector<char> value(H5Tget_size(type) * static_cast<std::size_t>(std::max<hssize_t>(attribute.count, 0)));
  if (!value.empty() && !attribute.read(type, value.data())) return false;
  add_text(sum, {value.begin(), value.end()});
  return true;
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

struct Objects {
  hid_t root;
  std::vector<std::pair<std::string, Handle>> datasets;
  std::vector<std::string> paths;  // of all objects
};

herr_t collect_object(hid_t, const char* name, const H5O_info_t* info, void* data) {
  auto& objects = *static_cast<Objects*>(data);
  objects.paths.emplace_back(name);
  if (info->type == H5O_TYPE_DATASET)
    objects.datasets.emplace_back(name, Handle(H5Dopen2(objects.root, name, H5P_DEFAULT)));
  return 0;
}

[[noreturn]] void refuse_damaged(const std::string& name, const std::string& found) {
  refuse_input(name, fmt::format("{}; the file is damaged: restore it from a copy, or make it again", found));
}

std::string show(std::optional<std::int64_t> checksum) {
  return checksum ? fmt::format("{:08x}", *checksum) : "data that cannot be read: " + hdf5_reason();
}

void compare(const std::string& name, const char* what, std::int64_t expected, std::optional<std::int64_t> found) {
  if (found == expected) return;
  refuse_damaged(name, fmt::format("expected {} with the checksum {:08x}, found {}", what, expected, show(found)));
}

using Visited = std::vector<std::pair<std::string, H5O_info_t>>;

herr_t collect_visited(hid_t, const char* name, const H5O_info_t* info, void* visited) {
  static_cast<Visited*>(visited)->emplace_back(name, *info);
  return 0;
}

/// What shows that an object of the copy is still that of the original: adding something moves nothing. Texts and
/// numbers are read; the bytes of other values are those that were copied.
struct ObjectFacts {
  haddr_t address = 0;
  std::uint64_t members = 0, bytes = 0;
  std::uint32_t attributes = 0;               // a checksum
  std::optional<std::int64_t> checksum = {};  // of the values
  bool operator==(const ObjectFacts&) const = default;
};

std::uint32_t checksum_of_attributes(hid_t object, const std::string& except) {
  std::vector<std::string> names;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_attribute, &names);
  Checksum sum;
  for (const std::string& name : names) {
    if (name == except) continue;
    add_text(sum, name);
    const StoredAttribute attribute(object, name);
    if (attribute.kind == H5T_STRING) {
      for (const std::string& text : texts_attribute(object, name)) add_text(sum, text);
    } else if (attribute.is_number()) {
      add_attribute(sum, object, name);
    }
  }
  return sum.value();
}

/// The checksum of a vector of texts, or of numbers that no filter has changed.
std::optional<std::int64_t> checksum_of_values(hid_t dataset, const std::string& place) {
  const Handle type(H5Dget_type(dataset)), creation(H5Dget_create_plist(dataset));
  if (H5Dget_storage_size(dataset) == 0 || H5Pget_external_count(creation.get()) > 0) return std::nullopt;
  const H5T_class_t kind = H5Tget_class(type.get());
  if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && H5Pget_layout(creation.get()) == H5D_CONTIGUOUS)
    return dataset_checksum(dataset);
  if (kind != H5T_STRING || H5Pget_layout(creation.get()) == H5D_VIRTUAL || extent_of(dataset).size() != 1)
    return std::nullopt;
  Checksum sum;
  for (const std::string& text : texts_of_vector(dataset, place)) add_text(sum, text);
  return sum.value();
}

/// Facts of all objects of a file, by their paths without the slash in front; those up to a damaged one.
std::map<std::string, ObjectFacts> facts_of(hid_t file, const std::map<std::string, std::int64_t>& extended,
                                            const std::string& attribute) {
  Visited visited;
  H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, collect_visited, &visited, H5O_INFO_BASIC);
  std::map<std::string, ObjectFacts> all;
  for (const auto& [name, info] : visited) {
    const Handle object(H5Oopen(file, name.c_str(), H5P_DEFAULT));
    ObjectFacts& facts = all[name];
    facts.address = info.addr;
    facts.attributes = checksum_of_attributes(object.get(), extended.contains(name) ? attribute : "");
    H5G_info_t group{};
    if (info.type == H5O_TYPE_GROUP && H5Gget_info(object.get(), &group) >= 0) facts.members = group.nlinks;
    if (info.type != H5O_TYPE_DATASET) continue;
    facts.bytes = H5Dget_storage_size(object.get());
    facts.checksum = checksum_of_values(object.get(), name);
  }
  return all;
}

}  // namespace

std::optional<std::int64_t> stored_checksum(hid_t object) {
  if (!has_attribute(object, kChecksumName)) return std::nullopt;
  const StoredAttribute attribute(object, kChecksumName);
  std::int64_t value = -1;
  return attribute.count == 1 && attribute.read(H5T_NATIVE_INT64, &value) ? value : -1;  // -1: no CRC-32
}

std::optional<std::int64_t> dataset_checksum(hid_t dataset) {
  constexpr hsize_t kBlockBytes = hsize_t{1} << 20;
  constexpr hsize_t kMostRowBytes = hsize_t{1} << 28;  // no result has longer rows, but a damaged file may claim them
  const Handle type(H5Dget_type(dataset));
  std::vector<hsize_t> count = extent_of(dataset);
  hsize_t row_bytes = H5Tget_size(type.get());
  if (row_bytes == 0 || row_bytes > kMostRowBytes) return std::nullopt;
  if (count.empty()) {  // one value
    std::vector<char> value(row_bytes);
    if (H5Dread(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) return std::nullopt;
    Checksum sum;
    sum.add(value.data(), value.size());
    return sum.value();
  }
  for (std::size_t i = 1; i < count.size(); ++i) {
    if (count[i] > 0 && row_bytes > kMostRowBytes / count[i]) return std::nullopt;
    row_bytes *= count[i];
  }
  const hsize_t rows = row_bytes > 0 ? count[0] : 0;
  const hsize_t block_rows =
      std::clamp<hsize_t>(row_bytes > 0 ? kBlockBytes / row_bytes : 1, 1, std::max<hsize_t>(rows, 1));
  std::vector<char> block(row_bytes * std::min(block_rows, rows));
  Checksum sum;
  for (hsize_t first = 0; first < rows; first += block_rows) {
    count[0] = std::min(block_rows, rows - first);
    if (!read_rows(dataset, type.get(), first, count, block.data())) return std::nullopt;
    sum.add(block.data(), row_bytes * count[0]);
  }
  return sum.value();
}

std::optional<std::int64_t> head_checksum(hid_t root) {
  Checksum sum;
  std::vector<std::string> names;
  if (H5Aiterate2(root, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_attribute, &names) < 0) return std::nullopt;
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name != kChecksumName && !add_attribute(sum, root, name)) return std::nullopt;
  }
  Objects objects{root, {}, {}};
  if (H5Ovisit2(root, H5_INDEX_NAME, H5_ITER_INC, collect_object, &objects, H5O_INFO_BASIC) < 0) return std::nullopt;
  std::sort(objects.paths.begin(), objects.paths.end());
  for (const std::string& path : objects.paths) add_text(sum, path);
  std::ranges::sort(objects.datasets, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [path, dataset] : objects.datasets) {
    if (!dataset) return std::nullopt;
    add_text(sum, fmt::format("{} {} {}", path, fmt::join(extent_of(dataset.get()), "x"),
                              stored_checksum(dataset.get()).value_or(-1)));
  }
  return sum.value();
}

void verify_dataset(const Hdf5InputFile& file, hid_t dataset, const std::string& path) {
  const auto expected = stored_checksum(dataset);
  if (!expected || text_attribute(open_object(file, "/").get(), "format") == "kith-points") return;
  compare(fmt::format("{}:{}", file.name(), path), "values", *expected, dataset_checksum(dataset));
}

void verify_head(const Hdf5InputFile& file) {
  const Handle root = open_object(file, "/");
  if (const auto expected = stored_checksum(root.get()))
    compare(file.name(), "attributes and names of datasets", *expected, head_checksum(root.get()));
}

std::int64_t verify_file(const std::string& name) {
  const Hdf5InputFile file(name);
  const Handle root = open_object(file, "/");
  if (!stored_checksum(root.get())) {
    refuse_input(
        name,
        "expected a result with checksums, found none; it was made by another program or an older kith: make it again");
  }
  verify_head(file);
  std::int64_t datasets = 0;
  for_each_dataset(file, [&](VisitedObject visited) {
    const std::string where = fmt::format("{}:{}", name, visited.path);
    if (!visited.object) refuse_damaged(where, visited.unreadable);
    const auto expected = stored_checksum(visited.object.get());
    if (!expected) refuse_damaged(where, "expected a dataset with a checksum, found none");
    compare(where, "values", *expected, dataset_checksum(visited.object.get()));
    ++datasets;
  });
  return datasets;
}

std::string find_change(hid_t original, hid_t copy, const std::map<std::string, std::int64_t>& extended,
                        const std::string& attribute) {
  const auto copied = facts_of(copy, extended, attribute);
  for (auto& [name, expected] : facts_of(original, extended, attribute)) {
    const auto found = copied.find(name);
    if (const auto more = extended.find(name); more != extended.end()) expected.members += more->second;
    if (found == copied.end() || found->second != expected) return "/" + (name == "." ? "" : name);
  }
  return "";
}

}  // namespace kith::data
