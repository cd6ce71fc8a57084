// Reads all attributes of the root at once, since every question to the process that reads a file costs time.
#include "data/hdf5/hdf5_root.h"

#include <algorithm>

#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"

namespace kith::data {
namespace {

template <class T>
std::vector<T> read_numbers(hid_t attribute, hid_t type) {
  constexpr hssize_t kMost = 65536;
  const Handle space(H5Aget_space(attribute));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > kMost) return {};
  std::vector<T> values(static_cast<std::size_t>(count));
  if (!values.empty() && H5Aread(attribute, type, values.data()) < 0) values.clear();
  return values;
}

herr_t add_attribute(hid_t root, const char* name, const H5A_info_t*, void* facts_of_root) {
  auto& facts = *static_cast<RootFacts*>(facts_of_root);
  const Handle attribute(H5Aopen(root, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(attribute.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind == H5T_STRING) facts.texts.emplace_back(name, text_attribute(root, name));
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return 0;
  facts.numbers.emplace_back(name, read_numbers<double>(attribute.get(), H5T_NATIVE_DOUBLE));
  facts.wholes.emplace_back(name, read_numbers<std::int64_t>(attribute.get(), H5T_NATIVE_INT64));
  return 0;
}

RootFacts find_root(const std::string& name) {
  const Hdf5InputFile file(name);
  const Handle root = open_object(file, "/");
  RootFacts facts;
  H5Aiterate2(root.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &facts);
  facts.members = names_in(root.get());
  return facts;
}

}  // namespace

std::string RootFacts::text(const std::string& attribute) const {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == attribute; });
  return found == texts.end() ? "" : found->second;
}

RootFacts read_root(const std::string& file) { return Hdf5Child::of(file)->call(file, &find_root, file); }

}  // namespace kith::data
