// Result files: HDF5 of the 1.8 kind, without time stamps, contiguous, so that equal results are equal bytes.
#include "data/results/result.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "data/hdf5/hdf5_handle.h"
#include "data/io/output_file.h"

namespace kith::data {
namespace {

/// Types as they are in the file, the same on every machine, and in memory.
template <class T>
struct Stored;
template <>
struct Stored<float> {
  static hid_t file_type() { return H5T_IEEE_F32LE; }
  static hid_t memory_type() { return H5T_NATIVE_FLOAT; }
};
template <>
struct Stored<double> {
  static hid_t file_type() { return H5T_IEEE_F64LE; }
  static hid_t memory_type() { return H5T_NATIVE_DOUBLE; }
};
template <>
struct Stored<std::int32_t> {
  static hid_t file_type() { return H5T_STD_I32LE; }
  static hid_t memory_type() { return H5T_NATIVE_INT32; }
};
template <>
struct Stored<std::int64_t> {
  static hid_t file_type() { return H5T_STD_I64LE; }
  static hid_t memory_type() { return H5T_NATIVE_INT64; }
};
template <>
struct Stored<std::uint8_t> {
  static hid_t file_type() { return H5T_STD_U8LE; }
  static hid_t memory_type() { return H5T_NATIVE_UINT8; }
};

constexpr std::int64_t kLargestReread = std::int64_t{16}
                                        << 20;  // bytes of a dataset that finish() compares value by value

/// A dataset as it should be found in the finished file.
struct Written {
  std::string name;
  hid_t file_type;
  hid_t memory_type;
  std::vector<hsize_t> shape;
  std::int64_t bytes;
  std::int64_t rows_left;
  std::optional<std::size_t> hash;
  Handle dataset;
};

std::size_t hash_of(const void* data, std::int64_t bytes) {
  return std::hash<std::string_view>{}({static_cast<const char*>(data), static_cast<std::size_t>(bytes)});
}

Handle access_properties() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(access.get());
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), false, true);  // nobody else knows the file
  return access;
}

Handle dataset_properties() {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);  // in the order of creation, not of writing
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.get(), false);
  return creation;
}

}  // namespace

struct ResultFile::State {
  OutputFile output;
  Handle file;
  std::vector<Written> written;
  std::int64_t attributes = 0;

  State(const std::string& path, const OutputOptions& options);
  ~State() { abandon(); }

  void require(bool good, const std::string& doing) const {
    if (good) return;
    throw Error(ExitCode::output,
                fmt::format("{}: {} failed: {}; nothing was left behind", output.name(), doing, hdf5_reason()));
  }
  void make_groups(const std::string& name);
  template <class T>
  Written& create(const std::string& name, std::vector<hsize_t> shape);
  template <class T>
  void write_whole(const std::string& name, std::vector<hsize_t> shape, const T* data);
  std::int64_t unwritten_bytes() const;
  void abandon() noexcept;
  void check_file() const;
  void check_dataset(hid_t file, const Written& expected) const;
};

ResultFile::State::State(const std::string& path, const OutputOptions& options) : output(path, options) {
  const Handle creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_attr_phase_change(creation.get(), 64, 0);  // attributes stay in the header of the root
  file = Handle(H5Fcreate(output.temporary().c_str(), H5F_ACC_TRUNC, creation.get(), access_properties().get()));
  require(static_cast<bool>(file), "creating the file");
}

/// The groups that a dataset is in, as far as they are not there.
void ResultFile::State::make_groups(const std::string& name) {
  for (auto slash = name.find('/', 1); slash != name.npos; slash = name.find('/', slash + 1)) {
    const std::string group = name.substr(0, slash);
    if (H5Lexists(file.get(), group.c_str(), H5P_DEFAULT) > 0) continue;
    const Handle creation(H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_obj_track_times(creation.get(), false);
    const Handle made(H5Gcreate2(file.get(), group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    require(static_cast<bool>(made), "creating " + group);
  }
}

template <class T>
Written& ResultFile::State::create(const std::string& name, std::vector<hsize_t> shape) {
  prepare_hdf5();
  std::int64_t bytes = sizeof(T);
  for (const hsize_t n : shape) bytes = checked_product(bytes, static_cast<std::int64_t>(n), name.c_str());
  output.require_space(bytes + unwritten_bytes());
  make_groups(name);
  const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
  Handle dataset(H5Dcreate2(file.get(), name.c_str(), Stored<T>::file_type(), space.get(), H5P_DEFAULT,
                            dataset_properties().get(), H5P_DEFAULT));
  require(static_cast<bool>(dataset), "creating " + name);
  const auto rows = static_cast<std::int64_t>(shape[0]);
  written.push_back({.name = name,
                     .file_type = Stored<T>::file_type(),
                     .memory_type = Stored<T>::memory_type(),
                     .shape = std::move(shape),
                     .bytes = bytes,
                     .rows_left = rows,
                     .hash = {},
                     .dataset = std::move(dataset)});
  return written.back();
}

/// Of all datasets that are created, what has not come yet.
std::int64_t ResultFile::State::unwritten_bytes() const {
  std::int64_t bytes = 0;
  for (const Written& w : written) {
    if (w.rows_left > 0) bytes += w.bytes / static_cast<std::int64_t>(w.shape[0]) * w.rows_left;
  }
  return bytes;
}

template <class T>
void ResultFile::State::write_whole(const std::string& name, std::vector<hsize_t> shape, const T* data) {
  Written& w = create<T>(name, std::move(shape));
  if (w.bytes > 0) {
    require(H5Dwrite(w.dataset.get(), w.memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "writing " + name);
  }
  w.rows_left = 0;
  if (w.bytes <= kLargestReread) w.hash = hash_of(data, w.bytes);
}

/// Closes a file that will not be finished. HDF5 would try to write what it still holds, and keep the file open when it
/// cannot; so its descriptor is made to lead to where every write succeeds.
void ResultFile::State::abandon() noexcept {
  if (!file) return;
  prepare_hdf5();
  void* descriptor = nullptr;
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0 && H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor) >= 0)
    dup2(nowhere, *static_cast<int*>(descriptor));
  if (nowhere >= 0) close(nowhere);
  written.clear();
  H5Fclose(file.release());
}

void ResultFile::State::check_dataset(hid_t reopened, const Written& expected) const {
  const Handle dataset(H5Dopen2(reopened, expected.name.c_str(), H5P_DEFAULT));
  const Handle type(H5Dget_type(dataset.get()));
  const Handle space(H5Dget_space(dataset.get()));
  std::vector<hsize_t> shape(expected.shape.size());
  bool same = H5Tequal(type.get(), expected.file_type) > 0 &&
              H5Sget_simple_extent_ndims(space.get()) == static_cast<int>(shape.size()) &&
              H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr) >= 0 && shape == expected.shape &&
              static_cast<std::int64_t>(H5Dget_storage_size(dataset.get())) == expected.bytes;
  if (same && expected.hash && expected.bytes > 0) {
    Matrix<std::byte> values(1, expected.bytes);
    same = H5Dread(dataset.get(), expected.memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0 &&
           hash_of(values.data(), expected.bytes) == expected.hash;
  }
  if (same) return;
  throw Error(ExitCode::output, fmt::format("{}: {} does not read back as it was written; the disk may be failing",
                                            output.name(), expected.name));
}

void ResultFile::State::check_file() const {
  const Handle reopened(H5Fopen(output.temporary().c_str(), H5F_ACC_RDONLY, access_properties().get()));
  require(static_cast<bool>(reopened), "reading back");
  H5O_info_t info{};
  require(H5Oget_info2(reopened.get(), &info, H5O_INFO_NUM_ATTRS) >= 0, "reading back");
  if (static_cast<std::int64_t>(info.num_attrs) != attributes) {
    throw Error(ExitCode::output, fmt::format("{}: {} attributes read back, {} were written; the disk may be failing",
                                              output.name(), info.num_attrs, attributes));
  }
  for (const auto& expected : written) check_dataset(reopened.get(), expected);
}

ResultFile::ResultFile(const std::string& path, const OutputOptions& options) {
  prepare_hdf5();
  state_ = std::make_unique<State>(path, options);
}

ResultFile::~ResultFile() = default;

namespace {

/// Type, shape and bytes of an attribute's value.
struct AttributeForm {
  Handle type;
  Handle space;
  const void* data;
  const char* text = nullptr;  // of variable length; then the value is where it is
};

AttributeForm form_of(const std::string& text) {
  Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), std::max<std::size_t>(text.size(), 1));
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return {std::move(type), Handle(H5Screate(H5S_SCALAR)), text.c_str()};
}
AttributeForm form_of(const Text& text) {
  Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return {std::move(type), Handle(H5Screate(H5S_SCALAR)), nullptr, text.value.c_str()};
}
AttributeForm form_of(const std::int64_t& value) {
  return {Handle(H5Tcopy(H5T_STD_I64LE)), Handle(H5Screate(H5S_SCALAR)), &value};
}
AttributeForm form_of(const double& value) {
  return {Handle(H5Tcopy(H5T_IEEE_F64LE)), Handle(H5Screate(H5S_SCALAR)), &value};
}
AttributeForm form_of(const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  return {Handle(H5Tcopy(H5T_STD_I64LE)), Handle(H5Screate_simple(1, &count, nullptr)), values.data()};
}

}  // namespace

void ResultFile::attribute(const std::string& name, const Attribute& value) {
  prepare_hdf5();
  const AttributeForm form = std::visit([](const auto& v) { return form_of(v); }, value);
  const Handle attribute(
      H5Acreate2(state_->file.get(), name.c_str(), form.type.get(), form.space.get(), H5P_DEFAULT, H5P_DEFAULT));
  state_->require(static_cast<bool>(attribute), "creating the attribute " + name);
  ++state_->attributes;
  if (H5Sget_simple_extent_npoints(form.space.get()) == 0) return;
  const Handle memory(H5Tget_native_type(form.type.get(), H5T_DIR_ASCEND));
  const void* data = form.text != nullptr ? static_cast<const void*>(&form.text) : form.data;
  state_->require(H5Awrite(attribute.get(), memory.get(), data) >= 0, "writing the attribute " + name);
}

void ResultFile::group(const std::string& name) {
  prepare_hdf5();
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  const Handle group(H5Gcreate2(state_->file.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  state_->require(static_cast<bool>(group), "creating the group " + name);
}

void ResultFile::dataset(const std::string& name, std::span<const std::int32_t> values) {
  state_->write_whole(name, {values.size()}, values.data());
}
void ResultFile::dataset(const std::string& name, std::span<const std::int64_t> values) {
  state_->write_whole(name, {values.size()}, values.data());
}
void ResultFile::dataset(const std::string& name, std::span<const float> values) {
  state_->write_whole(name, {values.size()}, values.data());
}
void ResultFile::dataset(const std::string& name, std::span<const double> values) {
  state_->write_whole(name, {values.size()}, values.data());
}
void ResultFile::dataset(const std::string& name, MatrixView<const double> values) {
  state_->write_whole(name, {static_cast<hsize_t>(values.rows), static_cast<hsize_t>(values.columns)}, values.data);
}

template <class T>
void ResultFile::create_matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  state_->create<T>(name, {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)});
}

template <class T>
void ResultFile::create_vector(const std::string& name, std::int64_t size) {
  state_->create<T>(name, {static_cast<hsize_t>(size)});
}

template <class T>
void ResultFile::write_rows(const std::string& name, std::int64_t first_row, MatrixView<const T> values) {
  prepare_hdf5();
  const auto found =
      std::find_if(state_->written.begin(), state_->written.end(), [&](const auto& w) { return w.name == name; });
  const auto columns_of = [](const Written& w) {
    return w.shape.size() == 2 ? static_cast<std::int64_t>(w.shape[1]) : 1;
  };
  if (found == state_->written.end() || H5Tequal(found->memory_type, Stored<T>::memory_type()) <= 0 ||
      values.columns != columns_of(*found) || first_row < 0 || values.rows > found->rows_left) {
    throw Error(ExitCode::internal, fmt::format("{}: rows {} to {} of '{}' do not belong to what was created",
                                                state_->output.name(), first_row, first_row + values.rows, name));
  }
  found->rows_left -= values.rows;
  if (values.size() == 0) return;
  const hsize_t start[2] = {static_cast<hsize_t>(first_row), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(values.rows), static_cast<hsize_t>(values.columns)};
  const Handle in_file(H5Dget_space(found->dataset.get()));
  const Handle in_memory(H5Screate_simple(static_cast<int>(found->shape.size()), count, nullptr));
  state_->require(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) >= 0 &&
                      H5Dwrite(found->dataset.get(), found->memory_type, in_memory.get(), in_file.get(), H5P_DEFAULT,
                               values.data) >= 0,
                  "writing " + name);
}

void ResultFile::finish() {
  prepare_hdf5();
  for (const auto& w : state_->written) {
    if (w.rows_left != 0) {
      throw Error(ExitCode::internal,
                  fmt::format("{}: {} rows of '{}' were never written", state_->output.name(), w.rows_left, w.name));
    }
  }
  // Flushed while everything is open: closing a dataset reports no error to anybody.
  state_->require(H5Fflush(state_->file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
  for (auto& w : state_->written) w.dataset = Handle();
  state_->require(H5Fclose(state_->file.get()) >= 0, "closing");
  state_->file.release();
  state_->output.sync();
  state_->check_file();
  state_->output.publish();
}

#define KITH_INSTANTIATE(T)                                                                   \
  template void ResultFile::create_matrix<T>(const std::string&, std::int64_t, std::int64_t); \
  template void ResultFile::create_vector<T>(const std::string&, std::int64_t);               \
  template void ResultFile::write_rows<T>(const std::string&, std::int64_t, MatrixView<const T>);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
KITH_INSTANTIATE(std::int32_t)
KITH_INSTANTIATE(std::int64_t)
KITH_INSTANTIATE(std::uint8_t)
#undef KITH_INSTANTIATE

}  // namespace kith::data
