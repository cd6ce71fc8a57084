// Reads texts of fixed and of variable length with the functions of HDF5.
#include "data/hdf5/hdf5_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/io/input_error.h"

namespace kith::data {

std::optional<std::vector<std::string>> read_texts(const Hdf5InputFile& file, const std::string& path) {
  const Handle dataset = open_object(file, path);
  if (H5Iget_type(dataset.get()) != H5I_DATASET) return std::nullopt;
  const DatasetFacts facts = inspect(file, dataset.get(), path);
  if (facts.info.type != "string" || facts.info.shape.size() != 1) return std::nullopt;
  const auto fail = [&](const std::string& problem) { refuse_input(fmt::format("{}:{}", file.name(), path), problem); };
  if (!facts.obstacle.empty()) fail(facts.obstacle);
  const Handle type(H5Dget_type(dataset.get())), space(H5Dget_space(dataset.get()));
  const auto count = static_cast<std::size_t>(facts.rows());
  std::vector<std::string> texts;
  if (count == 0) return texts;
  texts.reserve(count);
  const auto read = [&](void* values) {
    if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
      fail(describe_damage(hdf5_reason()));
  };
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> values(count, nullptr);
    read(values.data());
    for (const char* text : values) texts.emplace_back(text != nullptr ? text : "");
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, values.data());
  } else {
    const std::size_t size = H5Tget_size(type.get());
    const auto bytes = static_cast<std::size_t>(
        checked_product(facts.rows(), static_cast<std::int64_t>(size), facts.info.path.c_str()));
    std::string values(bytes, '\0');
    read(values.data());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text(values.data() + i * size, size);
      texts.emplace_back(text.substr(0, text.find('\0')));
    }
  }
  file.check_unchanged();
  return texts;
}

bool is_categorical(const Hdf5InputFile& file, const std::string& path) {
  const Handle group = open_object(file, path);
  return H5Iget_type(group.get()) == H5I_GROUP && H5Lexists(group.get(), "codes", H5P_DEFAULT) > 0 &&
         H5Lexists(group.get(), "categories", H5P_DEFAULT) > 0;
}

std::string text_attribute(hid_t object, const std::string& name) {
  if (H5Aexists(object, name.c_str()) <= 0) return "";
  const Handle value(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  const Handle type(H5Aget_type(value.get()));
  const Handle space(H5Aget_space(value.get()));
  constexpr std::size_t max_bytes = 65536;
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return "";
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(value.get(), type.get(), &text) < 0 || text == nullptr) return "";
    const std::string copy(text, strnlen(text, max_bytes));
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(type.get());
  if (size > max_bytes) return "";
  std::string text(size, '\0');
  if (H5Aread(value.get(), type.get(), text.data()) < 0) return "";
  return text.substr(0, text.find('\0'));
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace kith::data
