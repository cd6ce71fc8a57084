// Walks through two HDF5 files side by side. A file is read once at most, and nothing is decompressed.
#include "data/results/hdf5_comparison.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_driver.h"
#include "data/hdf5/hdf5_handle.h"

namespace kith::data {
namespace {

/// How values of a type are compared in memory, where texts and sequences of variable length are pointers.
struct ValueType {
  enum Kind { plain, text, sequence, array, compound, unknown } kind = plain;
  std::size_t size = 0;
  std::size_t offset = 0;  // in the compound that contains it
  std::size_t count = 0;   // of an array
  std::vector<ValueType> parts = {};
};

ValueType value_type(hid_t type) {
  ValueType value;
  value.size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) value.kind = ValueType::text;
      return value;
    case H5T_VLEN:
    case H5T_ARRAY: {
      const Handle base(H5Tget_super(type));
      value.parts.push_back(value_type(base.get()));
      value.kind = H5Tget_class(type) == H5T_VLEN ? ValueType::sequence : ValueType::array;
      if (value.parts[0].size > 0) value.count = value.size / value.parts[0].size;
      return value;
    }
    case H5T_COMPOUND:
      value.kind = ValueType::compound;
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
        value.parts.push_back(value_type(member.get()));
        value.parts.back().offset = H5Tget_member_offset(type, static_cast<unsigned>(i));
      }
      return value;
    case H5T_REFERENCE:  // addresses; newer references are pointers in memory
      if (H5Tequal(type, H5T_STD_REF_OBJ) <= 0 && H5Tequal(type, H5T_STD_REF_DSETREG) <= 0)
        value.kind = ValueType::unknown;
      return value;
    default:
      return value;
  }
}

bool same_value(const ValueType& type, const char* a, const char* b) {
  const auto pointed = [](const char* place) {
    const char* text = nullptr;
    std::memcpy(&text, place, sizeof text);
    return text;
  };
  switch (type.kind) {
    case ValueType::unknown:
      return true;
    case ValueType::plain:
      return std::memcmp(a, b, type.size) == 0;
    case ValueType::text: {
      const char *x = pointed(a), *y = pointed(b);
      return x == nullptr || y == nullptr ? x == y : std::strcmp(x, y) == 0;
    }
    case ValueType::sequence: {
      hvl_t x{}, y{};
      std::memcpy(&x, a, sizeof x);
      std::memcpy(&y, b, sizeof y);
      if (x.len != y.len) return false;
      const auto *p = static_cast<const char*>(x.p), *q = static_cast<const char*>(y.p);
      for (std::size_t i = 0; i < x.len; ++i) {
        if (!same_value(type.parts[0], p + i * type.parts[0].size, q + i * type.parts[0].size)) return false;
      }
      return true;
    }
    case ValueType::array:
      for (std::size_t i = 0; i < type.count; ++i) {
        if (!same_value(type.parts[0], a + i * type.parts[0].size, b + i * type.parts[0].size)) return false;
      }
      return true;
    default:
      return std::all_of(type.parts.begin(), type.parts.end(),
                         [&](const ValueType& part) { return same_value(part, a + part.offset, b + part.offset); });
  }
}

bool has_pointers(const ValueType& type) {
  return type.kind == ValueType::text || type.kind == ValueType::sequence ||
         std::any_of(type.parts.begin(), type.parts.end(), has_pointers);
}

/// Values of one space in memory, whose parts of variable length are given back at the end.
class Values {
 public:
  Values(hid_t type, hid_t space)
      : type_(type),
        space_(space),
        bytes_(H5Tget_size(type) * static_cast<std::size_t>(std::max<hssize_t>(H5Sget_select_npoints(space), 0))) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() {
    if (read_ && !bytes_.empty()) H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, bytes_.data());
  }
  bool read_attribute(hid_t attribute) {
    return bytes_.empty() || (read_ = H5Aread(attribute, type_, bytes_.data()) >= 0);
  }
  bool read_dataset(hid_t dataset, hid_t in_file) {
    return bytes_.empty() || (read_ = H5Dread(dataset, type_, space_, in_file, H5P_DEFAULT, bytes_.data()) >= 0);
  }
  bool same_as(const Values& other, const ValueType& type) const {
    for (std::size_t i = 0; i < bytes_.size(); i += type.size) {
      if (!same_value(type, bytes_.data() + i, other.bytes_.data() + i)) return false;
    }
    return true;
  }

 private:
  hid_t type_, space_;
  std::vector<char> bytes_;
  bool read_ = false;
};

bool same_attribute(hid_t a, hid_t b, const std::string& name) {
  const Handle x(H5Aopen(a, name.c_str(), H5P_DEFAULT)), y(H5Aopen(b, name.c_str(), H5P_DEFAULT));
  if (!x || !y) return false;
  const Handle type(H5Aget_type(x.get())), other(H5Aget_type(y.get()));
  const Handle space(H5Aget_space(x.get())), other_space(H5Aget_space(y.get()));
  if (H5Tequal(type.get(), other.get()) <= 0 || H5Sextent_equal(space.get(), other_space.get()) <= 0) return false;
  Values values(type.get(), space.get()), copied(type.get(), space.get());
  return values.read_attribute(x.get()) && copied.read_attribute(y.get()) &&
         values.same_as(copied, value_type(type.get()));
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::set<std::string>*>(names)->insert(name);
  return 0;
}

/// Returns the name of the first attribute that differs, or "its attributes" if the names do; empty if none does.
std::string different_attribute(hid_t a, hid_t b, const std::string& except) {
  std::set<std::string> names, copied;
  if (H5Aiterate2(a, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect_attribute, &names) < 0) return "its attributes";
  if (H5Aiterate2(b, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect_attribute, &copied) < 0) return "its attributes";
  names.erase(except);
  copied.erase(except);
  if (names != copied) return "its attributes";
  for (const std::string& name : names) {
    if (!same_attribute(a, b, name)) return fmt::format("the attribute {}", name);
  }
  return "";
}

/// A chunk in a file.
struct StoredChunk {
  std::optional<StoredBytes> bytes;  // nullopt: it could not be read
  std::uint32_t filters = 0;         // that were skipped
};

/// Its size is the one that the library would read, since damaged indices may have several entries for a chunk.
StoredChunk find_chunk(hid_t dataset, const hsize_t* offset) {
  StoredChunk chunk;
  std::byte nothing{};  // receives no bytes
  bool read = false;
  chunk.bytes =
      find_stored_bytes([&] { read = H5Dread_chunk(dataset, H5P_DEFAULT, offset, &chunk.filters, &nothing) >= 0; });
  if (!read) chunk.bytes.reset();
  return chunk;
}

/// The descriptor of the file of a dataset that is open with the reading driver; -1 if it is not known.
int descriptor_of(hid_t dataset) {
  const Handle file(H5Iget_file_id(dataset));
  void* descriptor = nullptr;
  if (!file || H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor) < 0) return -1;
  return *static_cast<const int*>(descriptor);
}

/// Whether ranges of two files hold the same bytes. Both end at the same place if they end early.
bool same_bytes(int a, const StoredBytes& in_a, int b, const StoredBytes& in_b) {
  constexpr std::int64_t kPiece = 1 << 16;
  if (in_a.size != in_b.size) return false;
  std::vector<char> x(kPiece), y(kPiece);
  for (std::int64_t done = 0; done < in_a.size;) {
    const auto size = static_cast<std::size_t>(std::min(kPiece, in_a.size - done));
    const ssize_t got = pread(a, x.data(), size, in_a.begin + done);
    if (got < 0) return false;
    if (got == 0) return pread(b, y.data(), size, in_b.begin + done) == 0;
    for (ssize_t compared = 0; compared < got;) {
      const ssize_t more = pread(b, y.data(), static_cast<std::size_t>(got - compared), in_b.begin + done + compared);
      if (more <= 0 || std::memcmp(x.data() + compared, y.data(), static_cast<std::size_t>(more)) != 0) return false;
      compared += more;
    }
    done += got;
  }
  return true;
}

/// Chunks as they are stored, place after place of the grid until all were seen. A grid that is far larger than its
/// chunks is not searched to the end.
bool same_chunks(hid_t a, hid_t b, const std::vector<hsize_t>& shape, const std::vector<hsize_t>& chunk) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  constexpr std::int64_t kMostPlaces = std::int64_t{1} << 28;
  hsize_t chunks = 0, copied_chunks = 0;
  const Handle space(H5Dget_space(a)), copied_space(H5Dget_space(b));
  if (H5Dget_num_chunks(a, space.get(), &chunks) < 0 || H5Dget_num_chunks(b, copied_space.get(), &copied_chunks) < 0 ||
      chunks != copied_chunks)
    return false;
  std::vector<hsize_t> offset(shape.size(), 0);
  const int in_a = descriptor_of(a), in_b = descriptor_of(b);
  for (std::int64_t places = 0; chunks > 0 && places < kMostPlaces; ++places) {
    hsize_t bytes = 0, copied = 0;
    if (H5Dget_chunk_storage_size(a, offset.data(), &bytes) < 0) bytes = 0;  // there is no such chunk
    if (H5Dget_chunk_storage_size(b, offset.data(), &copied) < 0) copied = 0;
    if (bytes != copied) return false;
    if (bytes > 0) {
      --chunks;
      const StoredChunk x = find_chunk(a, offset.data()), y = find_chunk(b, offset.data());
      if (!x.bytes || !y.bytes || x.filters != y.filters || !same_bytes(in_a, *x.bytes, in_b, *y.bytes)) return false;
    }
    std::size_t axis = shape.size();
    while (axis > 0 && (offset[axis - 1] += chunk[axis - 1]) >= shape[axis - 1]) offset[--axis] = 0;
    if (axis == 0) break;
  }
  return chunks == 0;
}

/// Values with texts or sequences of variable length, read in blocks of elements.
bool same_pointed_values(hid_t a, hid_t b, hid_t type, const std::vector<hsize_t>& shape) {
  constexpr hsize_t kBlockValues = 1 << 16;
  const ValueType value = value_type(type);
  std::vector<hsize_t> start(shape.size(), 0), count = shape;
  hsize_t row_values = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row_values *= shape[i];
  if (row_values == 0) return true;
  const hsize_t rows = shape.empty() ? 1 : shape[0];
  const hsize_t block = std::max<hsize_t>(kBlockValues / row_values, 1);
  for (hsize_t first = 0; first < rows; first += block) {
    const Handle in_file(H5Dget_space(a)), in_copy(H5Dget_space(b));
    if (!shape.empty()) {
      start[0] = first;
      count[0] = std::min(block, rows - first);
      for (const Handle* space : {&in_file, &in_copy})
        H5Sselect_hyperslab(space->get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    }
    const Handle in_memory(shape.empty() ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
    Values values(type, in_memory.get()), copied(type, in_memory.get());
    if (!values.read_dataset(a, in_file.get()) || !copied.read_dataset(b, in_copy.get()) ||
        !values.same_as(copied, value))
      return false;
  }
  return true;
}

bool same_dataset(hid_t a, hid_t b) {
  const Handle type(H5Dget_type(a)), other_type(H5Dget_type(b)), space(H5Dget_space(a)), other_space(H5Dget_space(b));
  const Handle creation(H5Dget_create_plist(a)), other_creation(H5Dget_create_plist(b));
  if (H5Tequal(type.get(), other_type.get()) <= 0 || H5Sextent_equal(space.get(), other_space.get()) <= 0 ||
      H5Pequal(creation.get(), other_creation.get()) <= 0 || H5Dget_storage_size(a) != H5Dget_storage_size(b))
    return false;
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  const bool is_elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0;
  if (is_elsewhere || H5Sget_simple_extent_type(space.get()) == H5S_NULL || H5Dget_storage_size(a) == 0) return true;
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  std::vector<hsize_t> chunk(shape.size(), 1);
  H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  if (has_pointers(value_type(type.get()))) return same_pointed_values(a, b, type.get(), shape);
  if (layout == H5D_CHUNKED) {
    return H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) > 0 &&
           same_chunks(a, b, shape, chunk);
  }
  const auto sum = dataset_checksum(a);
  return sum && sum == dataset_checksum(b);
}

using Links = std::map<std::string, H5L_type_t>;

herr_t collect_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
  static_cast<Links*>(links)->emplace(name, info->type);
  return 0;
}

Links links_of(hid_t group) {
  Links links;
  H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect_link, &links);
  return links;
}

/// The name that a soft or external link holds.
std::vector<char> value_of_link(hid_t group, const std::string& name) {
  H5L_info_t info{};
  if (H5Lget_info(group, name.c_str(), &info, H5P_DEFAULT) < 0) return {};
  std::vector<char> value(info.u.val_size);
  if (!value.empty()) H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT);
  return value;
}

}  // namespace

std::string find_difference(hid_t original, hid_t copy, const Addition& addition) {
  std::set<haddr_t> seen;
  std::vector<std::string> paths{"/"};
  while (!paths.empty()) {
    const std::string path = std::move(paths.back());
    paths.pop_back();
    const Handle a(H5Oopen(original, path.c_str(), H5P_DEFAULT)), b(H5Oopen(copy, path.c_str(), H5P_DEFAULT));
    if (!a && !b) continue;  // damaged in the original
    H5O_info_t info{}, copied{};
    // Adding something moves no object.
    if (!a || !b || H5Iget_type(a.get()) != H5Iget_type(b.get()) || H5Oget_info2(a.get(), &info, H5O_INFO_BASIC) < 0 ||
        H5Oget_info2(b.get(), &copied, H5O_INFO_BASIC) < 0 || info.addr != copied.addr)
      return path;
    if (!seen.insert(info.addr).second) continue;
    const bool is_extended = path == addition.group;
    const std::string different = different_attribute(a.get(), b.get(), is_extended ? addition.attribute : "");
    if (!different.empty()) return fmt::format("{}, {}", path, different);
    if (H5Iget_type(a.get()) == H5I_DATASET && !same_dataset(a.get(), b.get())) return path;
    if (H5Iget_type(a.get()) != H5I_GROUP) continue;
    const Links links = links_of(a.get());
    Links others = links_of(b.get());
    if (is_extended) others.erase(addition.link);
    if (links != others) return fmt::format("{}, its list of names", path);
    for (const auto& [name, type] : links) {
      const std::string child = path == "/" ? path + name : fmt::format("{}/{}", path, name);
      if (type == H5L_TYPE_HARD) {
        paths.push_back(child);
      } else if (value_of_link(a.get(), name) != value_of_link(b.get(), name)) {
        return child;
      }
    }
  }
  return "";
}

}  // namespace kith::data
