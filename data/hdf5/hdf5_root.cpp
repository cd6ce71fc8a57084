// Reads all attributes of the root at once, since every question to the process that reads a file costs time.
#include "data/hdf5/hdf5_root.h"

#include <algorithm>

#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

/// Whether the numbers of an attribute were read.
template <class T>
bool read_numbers(hid_t attribute, hid_t type, std::vector<T>& values) {
  constexpr hssize_t kMost = 65536;
  const Handle space(H5Aget_space(attribute));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > kMost) return false;
  values.resize(static_cast<std::size_t>(count));
  return values.empty() || H5Aread(attribute, type, values.data()) >= 0;
}

herr_t add_attribute(hid_t root, const char* name, const H5A_info_t*, void* facts_of_root) {
  auto& facts = *static_cast<RootFacts*>(facts_of_root);
  const Handle attribute(H5Aopen(root, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(attribute.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  bool read = kind >= 0;
  if (kind == H5T_STRING) {
    facts.texts.emplace_back(name, text_attribute(root, name));
    read = !facts.texts.back().second.empty() || H5Aget_storage_size(attribute.get()) <= 1;  // an empty text: one byte
  } else if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
    facts.numbers.emplace_back(name, std::vector<double>());
    facts.wholes.emplace_back(name, std::vector<std::int64_t>());
    const bool is_unsigned = kind == H5T_INTEGER && H5Tget_sign(type.get()) == H5T_SGN_NONE;
    read =
        read_numbers(attribute.get(), H5T_NATIVE_DOUBLE, facts.numbers.back().second) &&
        read_numbers(attribute.get(), is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, facts.wholes.back().second);
  }
  if (!read) facts.unreadable.emplace_back(name);
  return 0;
}

RootFacts find_root(const std::string& name, bool verify_results) {
  const Hdf5InputFile file(name);
  const Handle root = open_object(file, "/");
  RootFacts facts;
  if (H5Aiterate2(root.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &facts) < 0)
    refuse_input(name, "the attributes cannot be read: " + describe_damage(hdf5_reason()));
  facts.members = names_in(root.get());
  H5G_info_t members{};
  if (H5Gget_info(root.get(), &members) < 0 || members.nlinks != facts.members.size())
    refuse_input(name, "the names of its members cannot be read: " + describe_damage(hdf5_reason()));
  if (verify_results && facts.text("format").starts_with("kith-")) verify_head(file);
  return facts;
}

}  // namespace

std::string RootFacts::text(const std::string& attribute) const {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == attribute; });
  return found == texts.end() ? "" : found->second;
}

RootFacts read_root(const std::string& file, bool verify_results) {
  return Hdf5Child::of(file)->call(file, &find_root, file, verify_results);
}

}  // namespace kith::data
