// Reads texts of fixed and of variable length with the functions of HDF5, some at a time.
#include "data/hdf5/hdf5_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/format/shape.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/stored_rows.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

/// Bytes of a text of variable length in the file: its length, and where it is.
constexpr std::int64_t kReferenceBytes = 16;

std::int64_t stored_bytes_of_text(hid_t type) {
  return H5Tis_variable_str(type) > 0 ? kReferenceBytes : static_cast<std::int64_t>(H5Tget_size(type));
}

std::string refusal_of_texts(const DatasetFacts& facts, std::int64_t file_bytes, hid_t type) {
  if (!facts.obstacle.empty()) return facts.obstacle;
  return refusal_of_storage(facts, file_bytes, stored_bytes_of_text(type));
}

/// The name of a value of an enumeration; empty for a value that has none.
std::string name_of_value(hid_t type, const char* value) {
  char name[1024] = "";
  return H5Tenum_nameof(type, value, name, sizeof name) >= 0 ? name : "";
}

bool has_texts(const DatasetFacts& facts) {
  return (facts.info.type == "string" || facts.info.type == "enum") && facts.info.shape.size() == 1;
}

/// The texts in `values`, which were read with this type: pointers, texts of fixed length, or values of an enumeration.
std::vector<std::string> texts_in(hid_t type, std::size_t count, const std::vector<char>& values) {
  std::vector<std::string> texts;
  texts.reserve(count);
  const std::size_t bytes = H5Tget_size(type);
  for (std::size_t i = 0; i < count; ++i) {
    const char* at = values.data() + i * bytes;
    if (H5Tis_variable_str(type) > 0) {
      const char* text = nullptr;
      std::memcpy(&text, at, sizeof text);
      texts.emplace_back(text != nullptr ? text : "");
    } else if (H5Tget_class(type) == H5T_ENUM) {
      texts.push_back(name_of_value(type, at));
    } else {
      const std::string_view text(at, bytes);
      texts.emplace_back(text.substr(0, text.find('\0')));
      if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) texts.back().resize(texts.back().find_last_not_of(' ') + 1);
    }
  }
  return texts;
}

/// Calls read(type, values) with memory for `count` texts, and returns them; read() returns whether it could.
template <class Read>
std::vector<std::string> read_texts_with(hid_t type, hsize_t count, const std::string& place, const Read& read) {
  std::vector<char> values(count * H5Tget_size(type), '\0');
  if (!read(values.data())) refuse_input(place, describe_damage(hdf5_reason()));
  std::vector<std::string> texts = texts_in(type, count, values);
  const Handle in_memory(H5Screate_simple(1, &count, nullptr));
  if (H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, in_memory.get(), H5P_DEFAULT, values.data());
  return texts;
}

/// Texts first .. first + count - 1 of an open vector.
std::vector<std::string> read_texts_of(hid_t dataset, hid_t type, hsize_t first, hsize_t count,
                                       const std::string& place) {
  const Handle in_file(H5Dget_space(dataset)), in_memory(H5Screate_simple(1, &count, nullptr));
  return read_texts_with(type, count, place, [&](void* values) {
    return H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr) >= 0 &&
           H5Dread(dataset, type, in_memory.get(), in_file.get(), H5P_DEFAULT, values) >= 0;
  });
}

/// Texts first .. first + count - 1 of an open dataset.
std::vector<std::string> read_texts(std::int64_t id, std::int64_t first, std::int64_t count) {
  const OpenDataset& open = kept_open(id);
  std::vector<std::string> texts =
      read_texts_of(open.dataset.get(), open.type.get(), static_cast<hsize_t>(first), static_cast<hsize_t>(count),
                    fmt::format("{}:{}", open.file.name(), open.facts.info.path));
  open.file.check_unchanged();
  return texts;
}

}  // namespace

FoundTexts find_texts(const std::string& name, const std::string& path) {
  Hdf5InputFile file(name);
  FoundTexts found;
  Handle dataset = open_object(file, path);
  if (H5Iget_type(dataset.get()) != H5I_DATASET) return found;
  DatasetFacts facts = inspect(file, dataset.get(), path);
  if (!has_texts(facts)) return found;
  const Handle type(H5Dget_type(dataset.get()));
  if (facts.rows() > 0) {
    if (const std::string problem = refusal_of_texts(facts, file.bytes(), type.get()); !problem.empty())
      refuse_input(fmt::format("{}:{}", file.name(), path), problem);
    require_chunk_memory(facts, stored_bytes_of_text(type.get()), fmt::format("{}:{}", file.name(), path));
  }
  found.count = facts.rows();
  found.has_na = has_attribute(dataset.get(), "rhdf5-NA.OK");
  dataset = Handle();  // keep_open() opens it again
  found.id = keep_open(std::move(file), std::move(facts));
  return found;
}

std::vector<std::string> read_all_texts(Hdf5Child& child, const std::string& name, const FoundTexts& found) {
  constexpr std::int64_t kAtOnce = 4096;
  require_memory(capped_product(found.count, sizeof(std::string)), name);
  MemoryGrowth growth(name);
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(found.count));
  for (std::int64_t first = 0; first < found.count; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, found.count - first);
    std::vector<std::string> some = child.call(name, &read_texts, found.id, first, count);
    if (std::ssize(some) != count) refuse_input(name, "damaged: texts are missing; copy or create the file again");
    for (std::string& text : some) {
      if (text.size() >= sizeof(std::string) / 2)
        growth.add(std::ssize(text));  // short ones need no memory of their own
      texts.push_back(std::move(text));
    }
  }
  child.call(name, &close_dataset, found.id);
  return texts;
}

std::vector<std::string> texts_of_vector(hid_t dataset, const std::string& place) {
  const Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
  return read_texts_of(dataset, type.get(), 0, static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.get())), place);
}

std::vector<std::string> texts_of(const Hdf5InputFile& file, const std::string& path) {
  const Handle dataset = open_dataset(file, path);
  const DatasetFacts facts = inspect(file, dataset.get(), path);
  const Handle type(H5Dget_type(dataset.get()));
  if (!has_texts(facts) || facts.rows() == 0 || !refusal_of_texts(facts, file.bytes(), type.get()).empty()) return {};
  return texts_of_vector(dataset.get(), fmt::format("{}:{}", file.name(), path));
}

std::vector<std::string> texts_attribute(hid_t object, const std::string& name) {
  constexpr hssize_t kMost = 65536;
  if (!has_attribute(object, name.c_str())) return {};
  const StoredAttribute value(object, name);
  if (value.kind != H5T_STRING || value.count < 1 || value.count > kMost) return {};
  return read_texts_with(value.type.get(), static_cast<hsize_t>(value.count), fmt::format("the attribute {}", name),
                         [&](void* values) { return value.read(value.type.get(), values); });
}

std::string text_attribute(hid_t object, const std::string& name) {
  if (!has_attribute(object, name.c_str())) return "";
  const StoredAttribute value(object, name);
  const hid_t type = value.type.get();
  constexpr std::size_t max_bytes = 65536;
  if (value.kind != H5T_STRING || value.count != 1) return "";
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (!value.read(type, &text) || text == nullptr) return "";
    const std::string copy(text, strnlen(text, max_bytes));
    H5free_memory(text);
    return copy;
  }
  const std::size_t size = H5Tget_size(type);
  if (size > max_bytes) return "";
  std::string text(size, '\0');
  if (!value.read(type, text.data())) return "";
  return text.substr(0, text.find('\0'));
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines = split_text(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace kith::data
