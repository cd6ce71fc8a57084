// Adds the column with the HDF5 library, a part of the labels at a time, and reads it back.
#include "data/results/obs_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_path.h"
#include "data/results/copied_file.h"

namespace kith::data {
namespace {

constexpr const char* kOrder = "column-order";

/// The texts of an array attribute, of fixed or variable length; nullopt if it holds something else.
std::optional<std::vector<std::string>> names_of(hid_t object, const char* name) {
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(attribute.get())), space(H5Aget_space(attribute.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  std::vector<std::string> names;
  if (count == 0) return names;  // an empty array has any type
  if (count < 0 || H5Tget_class(type.get()) != H5T_STRING) return std::nullopt;
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> texts(static_cast<std::size_t>(count), nullptr);
    if (H5Aread(attribute.get(), type.get(), texts.data()) < 0) return std::nullopt;
    for (const char* text : texts) names.emplace_back(text != nullptr ? text : "");
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, texts.data());
    return names;
  }
  const std::size_t size = H5Tget_size(type.get());
  std::string texts(size * static_cast<std::size_t>(count), '\0');
  if (H5Aread(attribute.get(), type.get(), texts.data()) < 0) return std::nullopt;
  for (std::size_t i = 0; i < texts.size(); i += size) {
    names.push_back(texts.substr(i, strnlen(texts.data() + i, size)));
    if (H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD) names.back().resize(names.back().find_last_not_of(' ') + 1);
  }
  return names;
}

/// Adds the column to the order of the columns, since AnnData ignores columns that are not in it.
void add_to_order(const CopyChecker& check, hid_t obs, const std::vector<std::string>& names) {
  std::vector<const char*> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(name.c_str());
  if (has_attribute(obs, kOrder)) check(H5Adelete(obs, kOrder) >= 0, "replacing column-order");
  const hsize_t count = texts.size();
  const Handle type = utf8_type(H5T_VARIABLE), space(H5Screate_simple(1, &count, nullptr));
  const Handle attribute(H5Acreate2(obs, kOrder, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), texts.data()) >= 0, "writing column-order");
}

/// The order of the columns with the new one; throws if the present order cannot be read.
std::vector<std::string> extended_order(const CopyChecker& check, hid_t obs, const std::string& column) {
  std::optional<std::vector<std::string>> names{std::in_place};
  if (has_attribute(obs, kOrder)) names = names_of(obs, kOrder);
  check(names.has_value(), "reading column-order as texts");
  names->push_back(column);
  return *names;
}

/// Writes the attribute "ordered" as h5py writes False.
void write_not_ordered(const CopyChecker& check, hid_t group) {
  const Handle type(H5Tenum_create(H5T_STD_I8LE)), space(H5Screate(H5S_SCALAR));
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  const Handle attribute(H5Acreate2(group, "ordered", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), &no) >= 0, "writing an attribute");
}

std::vector<std::string> category_names(std::int64_t categories) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < categories; ++c) names.push_back(std::to_string(c));
  return names;
}

hid_t code_type(std::int64_t categories) {
  if (categories <= std::numeric_limits<std::int8_t>::max()) return H5T_STD_I8LE;
  return categories <= std::numeric_limits<std::int16_t>::max() ? H5T_STD_I16LE : H5T_STD_I32LE;
}

/// A copy between begin_column() and finish_column(). The members are closed in the order that the end of a run needs.
struct OpenColumn {
  NewColumn column;
  Handle file, obs, group, codes;
};

/// Never destroyed, because the library would then write to a copy that was given up.
OpenColumn* open_column = nullptr;

bool has_texts(hid_t object, const char* name, const std::vector<std::string>& expected) {
  return has_attribute(object, name) && names_of(object, name) == expected;
}

bool has_categories(hid_t dataset, const NewColumn& column) {
  const std::vector<std::string> names = category_names(column.categories);
  std::vector<char*> found(names.size(), nullptr);
  const Handle text = utf8_type(H5T_VARIABLE), space(H5Dget_space(dataset));
  if (H5Sget_simple_extent_npoints(space.get()) != std::ssize(names) ||
      H5Dread(dataset, text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) < 0)
    return false;
  const bool same =
      std::equal(names.begin(), names.end(), found.begin(),
                 [](const std::string& name, const char* other) { return other != nullptr && name == other; });
  H5Dvlen_reclaim(text.get(), space.get(), H5P_DEFAULT, found.data());
  return same;
}

/// Whether the copy has exactly these labels, categories and attributes.
bool has_column(hid_t file, const NewColumn& column, const std::vector<std::string>& order, std::int64_t checksum) {
  const Handle obs(H5Gopen2(file, "/obs", H5P_DEFAULT)), group(H5Gopen2(obs.get(), column.name.c_str(), H5P_DEFAULT));
  const Handle codes(H5Dopen2(group.get(), "codes", H5P_DEFAULT));
  const Handle categories(H5Dopen2(group.get(), "categories", H5P_DEFAULT));
  if (!group || !codes || !categories || !has_texts(obs.get(), kOrder, order)) return false;
  const std::vector<std::string> version{"0.2.0"};
  for (const auto& [object, type] :
       {std::pair(&group, "categorical"), {&codes, "array"}, {&categories, "string-array"}}) {
    if (!has_texts(object->get(), "encoding-type", {type}) || !has_texts(object->get(), "encoding-version", version))
      return false;
  }
  std::int8_t ordered = 1;
  const Handle attribute(H5Aopen(group.get(), "ordered", H5P_DEFAULT)), type(H5Aget_type(attribute.get()));
  return H5Aread(attribute.get(), type.get(), &ordered) >= 0 && ordered == 0 &&
         has_values(codes.get(), H5T_NATIVE_INT32, column.rows, checksum) && has_categories(categories.get(), column);
}

}  // namespace

void begin_column(const NewColumn& column) {
  prepare_hdf5();
  const CopyChecker check(column.output);
  delete std::exchange(open_column, nullptr);
  auto open = std::make_unique<OpenColumn>();
  open->column = column;
  open->file = open_copy(column.copy, H5F_ACC_RDWR);
  check(static_cast<bool>(open->file), "opening the copy");
  open->obs = Handle(H5Gopen2(open->file.get(), "obs", H5P_DEFAULT));
  check(static_cast<bool>(open->obs), "opening obs");
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  open->group = Handle(H5Gcreate2(open->obs.get(), column.name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(open->group), "creating the column");
  write_encoding(check, open->group.get(), "categorical");
  write_not_ordered(check, open->group.get());
  open->codes = make_vector(check, open->group.get(), "codes", code_type(column.categories), column.rows);
  open_column = open.release();
}

void write_codes(std::int64_t first, const std::vector<std::int32_t>& labels) {
  const CopyChecker check(open_column->column.output);
  write_values(check, open_column->codes.get(), H5T_NATIVE_INT32, first, std::ssize(labels), labels.data());
}

std::vector<std::string> finish_column() {
  OpenColumn& open = *open_column;
  const CopyChecker check(open.column.output);
  write_encoding(check, open.codes.get(), "array");
  const std::vector<std::string> names = category_names(open.column.categories);
  std::vector<const char*> texts;
  for (const std::string& name : names) texts.push_back(name.c_str());
  const Handle text = utf8_type(H5T_VARIABLE);
  const Handle categories = make_vector(check, open.group.get(), "categories", text.get(), std::ssize(names));
  check(H5Dwrite(categories.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) >= 0,
        "writing the categories");
  write_encoding(check, categories.get(), "string-array");
  std::vector<std::string> order = extended_order(check, open.obs.get(), open.column.name);
  add_to_order(check, open.obs.get(), order);
  for (Handle* object : {&open.codes, &open.group, &open.obs}) *object = Handle();
  check(H5Fflush(open.file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
  check(H5Fclose(open.file.release()) >= 0, "closing");
  return order;
}

std::string find_wrong(const std::string& original, const NewColumn& column, const std::vector<std::string>& order,
                       std::int64_t checksum) {
  const Hdf5InputFile input(original);
  const Handle copy = open_copy(column.copy, H5F_ACC_RDONLY);
  if (!copy) return "the file";
  const std::string change = find_change(input, copy.get(), {"/obs", column.name, kOrder});
  if (!change.empty()) return change;
  return has_column(copy.get(), column, order, checksum) ? "" : "/obs/" + column.name;
}

}  // namespace kith::data
