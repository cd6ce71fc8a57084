// Copies an AnnData file and adds a categorical column to obs, in the format of anndata 0.8 and later.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/output_file.h"
#include "data/results/hdf5_comparison.h"
#include "data/results/label_file.h"

namespace kith::data {
namespace {

/// Throws Error(output) with HDF5's reason if an action failed.
class Checker {
 public:
  explicit Checker(std::string name) : name_(std::move(name)) {}
  void operator()(bool succeeded, const char* action) const {
    if (succeeded) return;
    throw Error(ExitCode::output,
                fmt::format("{}: {} failed: {}; nothing was left behind", name_, action, hdf5_reason()));
  }

 private:
  std::string name_;
};

void write_text(const Checker& check, hid_t object, const char* name, const char* text) {
  const Handle type = utf8_type(H5T_VARIABLE), space(H5Screate(H5S_SCALAR));
  const Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), &text) >= 0, "writing an attribute");
}

void write_encoding(const Checker& check, hid_t object, const char* type) {
  write_text(check, object, "encoding-type", type);
  write_text(check, object, "encoding-version", "0.2.0");
}

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
void add_to_order(const Checker& check, hid_t obs, const std::vector<std::string>& names) {
  std::vector<const char*> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(name.c_str());
  if (H5Aexists(obs, kOrder) > 0) check(H5Adelete(obs, kOrder) >= 0, "replacing column-order");
  const hsize_t count = texts.size();
  const Handle type = utf8_type(H5T_VARIABLE), space(H5Screate_simple(1, &count, nullptr));
  const Handle attribute(H5Acreate2(obs, kOrder, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), texts.data()) >= 0, "writing column-order");
}

/// The order of the columns with the new one; throws if the present order cannot be read.
std::vector<std::string> extended_order(const Checker& check, hid_t obs, const std::string& column) {
  std::optional<std::vector<std::string>> names{std::in_place};
  if (H5Aexists(obs, kOrder) > 0) names = names_of(obs, kOrder);
  check(names.has_value(), "reading column-order as texts");
  names->push_back(column);
  return *names;
}

struct Array {
  const char* name;
  hid_t type, memory_type;
  std::size_t count;
  const void* values;
};

void write_array(const Checker& check, hid_t group, const Array& array, const char* encoding) {
  const hsize_t count = array.count;
  const Handle space(H5Screate_simple(1, &count, nullptr)), creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  const Handle dataset(
      H5Dcreate2(group, array.name, array.type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(dataset && H5Dwrite(dataset.get(), array.memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values) >= 0,
        "writing the labels");
  write_encoding(check, dataset.get(), encoding);
}

/// Writes the attribute "ordered" as h5py writes False.
void write_not_ordered(const Checker& check, hid_t group) {
  const Handle type(H5Tenum_create(H5T_STD_I8LE)), space(H5Screate(H5S_SCALAR));
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  const Handle attribute(H5Acreate2(group, "ordered", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), &no) >= 0, "writing an attribute");
}

std::vector<std::string> category_names(const ObsColumn& column) {
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < column.categories; ++c) names.push_back(std::to_string(c));
  return names;
}

/// Returns the new order of the columns.
std::vector<std::string> add_column(const Checker& check, hid_t file, const ObsColumn& column) {
  const Handle obs(H5Gopen2(file, "obs", H5P_DEFAULT)), creation(H5Pcreate(H5P_GROUP_CREATE));
  check(static_cast<bool>(obs), "opening obs");
  H5Pset_obj_track_times(creation.get(), false);
  const Handle group(H5Gcreate2(obs.get(), column.name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(group), "creating the column");
  const std::vector<std::string> names = category_names(column);
  std::vector<const char*> categories;
  for (const std::string& name : names) categories.push_back(name.c_str());
  const hid_t code = column.categories <= std::numeric_limits<std::int8_t>::max()    ? H5T_STD_I8LE
                     : column.categories <= std::numeric_limits<std::int16_t>::max() ? H5T_STD_I16LE
                                                                                     : H5T_STD_I32LE;
  const Handle text = utf8_type(H5T_VARIABLE);
  write_encoding(check, group.get(), "categorical");
  write_not_ordered(check, group.get());
  write_array(check, group.get(), {"codes", code, H5T_NATIVE_INT32, column.labels.size(), column.labels.data()},
              "array");
  write_array(check, group.get(), {"categories", text.get(), text.get(), categories.size(), categories.data()},
              "string-array");
  std::vector<std::string> order = extended_order(check, obs.get(), column.name);
  add_to_order(check, obs.get(), order);
  return order;
}

Handle open_copy(const OutputFile& output, unsigned flags) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(access.get());
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), false, true);  // no other program uses the file
  return Handle(H5Fopen(output.descriptor_path().c_str(), flags, access.get()));
}

/// Copies the bytes and the permissions of the file, to which the owner may then write.
void copy_bytes(const std::string& from, const OutputFile& output) {
  const auto fail = [&](int error) {
    throw Error(ExitCode::output, fmt::format("{}: copying {} failed: {}; nothing was left behind", output.name(), from,
                                              std::strerror(error)));
  };
  const Descriptor original(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!original || fstat(original.get(), &status) != 0) fail(errno);
  output.require_space(status.st_size);
  output.set_mode((status.st_mode & 0777) | S_IWUSR);
  std::vector<char> block(std::size_t{1} << 20);
  for (off_t position = 0;;) {
    const ssize_t count = read(original.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    if (count == 0) return;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = pwrite(output.descriptor(), block.data() + done, count - done, position + done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(written < 0 ? errno : ENOSPC);
      done += written;
    }
    position += count;
  }
}

bool has_texts(hid_t object, const char* name, const std::vector<std::string>& expected) {
  return H5Aexists(object, name) > 0 && names_of(object, name) == expected;
}

/// Whether the copy has exactly these labels, categories and attributes.
bool has_column(hid_t file, const ObsColumn& column, const std::vector<std::string>& order) {
  const std::string path = "/obs/" + column.name;
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
  if (H5Aread(attribute.get(), type.get(), &ordered) < 0 || ordered != 0) return false;
  std::vector<std::int32_t> labels(column.labels.size());
  const Handle space(H5Dget_space(codes.get())), texts(H5Dget_space(categories.get()));
  const std::vector<std::string> names = category_names(column);
  std::vector<char*> found(names.size(), nullptr);
  if (H5Sget_simple_extent_npoints(space.get()) != std::ssize(labels) ||
      H5Sget_simple_extent_npoints(texts.get()) != std::ssize(names) ||
      H5Dread(codes.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data()) < 0 ||
      !std::equal(labels.begin(), labels.end(), column.labels.begin()))
    return false;
  const Handle text = utf8_type(H5T_VARIABLE);
  if (H5Dread(categories.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) < 0) return false;
  const bool same =
      std::equal(names.begin(), names.end(), found.begin(),
                 [](const std::string& name, const char* other) { return other != nullptr && name == other; });
  H5Dvlen_reclaim(text.get(), texts.get(), H5P_DEFAULT, found.data());
  return same;
}

/// HDF5 does not report every write that fails, so the copy is read back and compared with what it must contain.
void check_copy(const OutputFile& output, const ObsColumn& column, const std::vector<std::string>& order) {
  const Hdf5InputFile original(column.from);
  const Handle copy = open_copy(output, H5F_ACC_RDONLY);
  std::string difference = "the file";
  if (copy) difference = find_difference(original.id(), copy.get(), {"/obs", column.name, kOrder});
  if (copy && difference.empty() && !has_column(copy.get(), column, order)) difference = "/obs/" + column.name;
  if (difference.empty()) return;
  throw Error(ExitCode::output,
              fmt::format("{}: {} does not read back as it was written; the disk may be failing, or {} has changed "
                          "meanwhile; nothing was left behind, run the command again",
                          output.name(), difference, column.from));
}

void check_columns(const std::string& file, const std::string& column, std::int64_t rows) {
  const Hdf5InputFile input(file);
  const auto fail = [&](const std::string& problem) {
    refuse_input(fmt::format("{}: --write-obs {}", file, column), problem);
  };
  if (column.empty() || column.find('/') != column.npos || column == "." || column == "..") {
    fail("expected the name of a column, without /, found another text; give a plain name");
  }
  const Handle root = open_object(input, "/");
  if (H5Lexists(root.get(), "obs", H5P_DEFAULT) <= 0)
    fail("expected an AnnData file, which has a group obs, found none; give an .h5ad file");
  const Handle obs = open_object(input, "/obs");
  if (H5Iget_type(obs.get()) != H5I_GROUP) {
    fail("expected obs to be a group, as AnnData 0.7 and later write it; write the file again with a newer version");
  }
  if (H5Lexists(obs.get(), column.c_str(), H5P_DEFAULT) > 0) fail("obs has such a column already; give another name");
  const std::string index = text_attribute(obs.get(), "_index");
  const std::string path = fmt::format("/obs/{}", index.empty() ? "_index" : index);
  const DatasetFacts facts = inspect(input, open_object(input, path).get(), path);
  if (facts.info.shape != std::vector<std::int64_t>{rows}) {
    fail(fmt::format("expected {} rows in obs, one for each point, found {}; give the file of these points", rows,
                     show_shape(facts.info.shape)));
  }
}

}  // namespace

void check_obs(const std::string& file, const std::string& column, std::int64_t rows) {
  Hdf5Child::of(file)->call(file, &check_columns, file, column, rows);
}

void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column) {
  prepare_hdf5();
  OutputFile output(path, options);
  const Checker check(output.name());
  copy_bytes(column.from, output);
  std::vector<std::string> order;
  {
    Handle file = open_copy(output, H5F_ACC_RDWR);
    check(static_cast<bool>(file), "opening the copy");
    order = add_column(check, file.get(), column);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
    check(H5Fclose(file.release()) >= 0, "closing");
  }
  output.sync();
  check_copy(output, column, order);
  output.publish();
}

}  // namespace kith::data
