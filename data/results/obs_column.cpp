// Copies an AnnData file and adds a categorical column to obs, in the format of anndata 0.8 and later.
#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/output_file.h"
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

/// The texts of an array attribute; none if there is no such attribute.
std::vector<std::string> names_of(hid_t object, const char* name) {
  std::vector<std::string> names;
  if (H5Aexists(object, name) <= 0) return names;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
  const Handle type(H5Aget_type(attribute.get())), space(H5Aget_space(attribute.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Tis_variable_str(type.get()) <= 0 || count < 1) return names;
  std::vector<char*> texts(static_cast<std::size_t>(count), nullptr);
  if (H5Aread(attribute.get(), type.get(), texts.data()) < 0) return names;
  for (const char* text : texts) names.emplace_back(text != nullptr ? text : "");
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, texts.data());
  return names;
}

/// Adds the column to the order of the columns, since AnnData ignores columns that are not in it.
void add_to_order(const Checker& check, hid_t obs, const std::string& column) {
  constexpr const char* kOrder = "column-order";
  std::vector<std::string> names = names_of(obs, kOrder);
  names.push_back(column);
  std::vector<const char*> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(name.c_str());
  if (H5Aexists(obs, kOrder) > 0) check(H5Adelete(obs, kOrder) >= 0, "replacing column-order");
  const hsize_t count = texts.size();
  const Handle type = utf8_type(H5T_VARIABLE), space(H5Screate_simple(1, &count, nullptr));
  const Handle attribute(H5Acreate2(obs, kOrder, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(attribute && H5Awrite(attribute.get(), type.get(), texts.data()) >= 0, "writing column-order");
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

void add_column(const Checker& check, hid_t file, const ObsColumn& column) {
  const Handle obs(H5Gopen2(file, "obs", H5P_DEFAULT)), creation(H5Pcreate(H5P_GROUP_CREATE));
  check(static_cast<bool>(obs), "opening obs");
  H5Pset_obj_track_times(creation.get(), false);
  const Handle group(H5Gcreate2(obs.get(), column.name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(group), "creating the column");
  std::vector<std::string> names;
  std::vector<const char*> categories;
  for (std::int64_t c = 0; c < column.categories; ++c) names.push_back(std::to_string(c));
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
  add_to_order(check, obs.get(), column.name);
}

}  // namespace

void check_obs(const std::string& file, const std::string& column, std::int64_t rows) {
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

void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column) {
  prepare_hdf5();
  OutputFile output(path, options);
  const Checker check(output.name());
  std::error_code failure;
  output.require_space(static_cast<std::int64_t>(std::filesystem::file_size(column.from, failure)));
  std::filesystem::copy_file(column.from, output.temporary(), std::filesystem::copy_options::overwrite_existing,
                             failure);
  if (!failure) {  // the copy has the permissions of the original
    std::filesystem::permissions(output.temporary(), std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add, failure);
  }
  if (failure) {
    throw Error(ExitCode::output, fmt::format("{}: copying {} failed: {}; nothing was left behind", path, column.from,
                                              failure.message()));
  }
  {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fapl_sec2(access.get());
    H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    H5Pset_file_locking(access.get(), false, true);  // no other program uses the file
    Handle file(H5Fopen(output.temporary().c_str(), H5F_ACC_RDWR, access.get()));
    check(static_cast<bool>(file), "opening the copy");
    add_column(check, file.get(), column);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
    check(H5Fclose(file.get()) >= 0, "closing");
    file.release();
  }
  output.sync();
  output.publish();
}

}  // namespace kith::data
