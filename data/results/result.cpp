// Writes result files: HDF5 1.8 format, contiguous, without time stamps, so that equal results are equal bytes.
#include "data/results/result.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_file.h"
#include "data/io/checksum.h"

namespace kith::data {

/// The HDF5 type of a value, in the file and in memory.
template <class T>
struct Stored {
  static hid_t type() { return hdf5_type(kNumberOf<T>); }
};

static_assert(std::endian::native == std::endian::little, "checksums are those of the bytes in memory and in the file");

/// Rows that were written one after another.
struct WrittenRows {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  Checksum checksum;
};

/// A dataset as the finished file must contain it.
struct Written {
  std::string name;
  hid_t type;
  std::vector<hsize_t> shape;
  std::int64_t bytes;
  std::int64_t unwritten_rows;
  std::map<std::int64_t, WrittenRows> ranges;  // by their first rows
  Handle dataset;
  Handle checksum_attribute;

  void add(std::int64_t first_row, std::int64_t rows, const void* data, std::int64_t data_bytes) {
    auto next = ranges.upper_bound(first_row);
    const bool continues = next != ranges.begin() && std::prev(next)->first + std::prev(next)->second.rows == first_row;
    WrittenRows& range = continues ? std::prev(next)->second : ranges[first_row];
    range.rows += rows;
    range.bytes += data_bytes;
    range.checksum.add(data, static_cast<std::size_t>(data_bytes));
    unwritten_rows -= rows;
  }
  std::int64_t checksum() const {
    Checksum sum;
    for (const auto& [first, range] : ranges) sum.append(range.checksum, range.bytes);
    return sum.value();
  }
};

template <std::size_t width>
struct Stored<FixedText<width>> {
  static hid_t type() {
    static const hid_t type = [] {
      Handle made = utf8_type(width);
      H5Tset_strpad(made.get(), H5T_STR_NULLPAD);
      return made.release();  // for as long as the program runs
    }();
    return type;
  }
};

namespace {

Handle access_properties() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(access.get());
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), false, true);  // no other program uses the file
  return access;
}

Handle dataset_properties() {
  Handle creation = creation_properties(H5P_DATASET_CREATE);
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);  // file space in the order of creation, not of writing
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  return creation;
}

}  // namespace

struct ResultFile::State {
  OutputFile output;
  std::vector<std::string> marks;
  Handle file;
  std::vector<Written> written;
  std::int64_t head = 0;  // head_checksum() of the finished file

  State(const std::string& path, const OutputOptions& options);
  ~State() { abandon(); }

  void require(bool succeeded, const std::string& action) const {
    if (succeeded) return;
    throw Error(ExitCode::output,
                fmt::format("{}: {} failed: {}; nothing was left behind", output.name(), action, hdf5_reason()));
  }
  void make_groups(const std::string& name);
  template <class T>
  Written& create(const std::string& name, std::vector<hsize_t> shape);
  template <class T>
  void write_whole(const std::string& name, std::vector<hsize_t> shape, const T* data);
  std::int64_t unwritten_bytes() const;
  void abandon() noexcept;
  Handle make_checksum(hid_t object) const;
  void store_checksums();
  void check_file() const;
  [[noreturn]] void refuse_unlike(const std::string& what, bool was_read) const;
  void check_dataset(hid_t file, const Written& expected) const;
};

ResultFile::State::State(const std::string& path, const OutputOptions& options)
    : output(path, options), marks(options.marks) {
  const Handle creation = creation_properties(H5P_FILE_CREATE);
  H5Pset_attr_phase_change(creation.get(), 64, 0);  // attributes stay in the header of the root
  file = Handle(H5Fcreate(output.descriptor_path().c_str(), H5F_ACC_TRUNC, creation.get(), access_properties().get()));
  require(static_cast<bool>(file), "creating the file");
}

/// Creates the groups of a dataset that do not exist yet.
void ResultFile::State::make_groups(const std::string& name) {
  for (auto slash = name.find('/', 1); slash != name.npos; slash = name.find('/', slash + 1)) {
    const std::string group = name.substr(0, slash);
    if (H5Lexists(file.get(), group.c_str(), H5P_DEFAULT) > 0) continue;
    require(static_cast<bool>(make_group(file.get(), group)), "creating " + group);
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
  Handle dataset(H5Dcreate2(file.get(), name.c_str(), Stored<T>::type(), space.get(), H5P_DEFAULT,
                            dataset_properties().get(), H5P_DEFAULT));
  require(static_cast<bool>(dataset), "creating " + name);
  const auto rows = static_cast<std::int64_t>(shape[0]);
  written.push_back({.name = name,
                     .type = Stored<T>::type(),
                     .shape = std::move(shape),
                     .bytes = bytes,
                     .unwritten_rows = rows,
                     .ranges = {},
                     .dataset = std::move(dataset),
                     .checksum_attribute = {}});
  Written& w = written.back();
  w.checksum_attribute = make_checksum(w.dataset.get());
  return w;
}

/// The attribute is made with its object and written at the end, so that it needs no block of its own.
Handle ResultFile::State::make_checksum(hid_t object) const {
  const Handle space(H5Screate(H5S_SCALAR));
  Handle made(H5Acreate2(object, kChecksumName, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  require(static_cast<bool>(made), "creating a checksum");
  return made;
}

void ResultFile::State::store_checksums() {
  const auto store = [this](const Handle& attribute, std::int64_t value) {
    require(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value) >= 0, "writing a checksum");
  };
  for (Written& w : written) {
    store(w.checksum_attribute, w.checksum());
    w.checksum_attribute = Handle();
  }
  const Handle root(H5Gopen2(file.get(), "/", H5P_DEFAULT));
  const Handle attribute = make_checksum(root.get());
  const auto computed = head_checksum(root.get());
  require(computed.has_value(), "computing a checksum");
  head = *computed;
  store(attribute, head);
}

/// The bytes of all created datasets that have not been written yet.
std::int64_t ResultFile::State::unwritten_bytes() const {
  std::int64_t bytes = 0;
  for (const Written& w : written) {
    if (w.unwritten_rows > 0) bytes += w.bytes / static_cast<std::int64_t>(w.shape[0]) * w.unwritten_rows;
  }
  return bytes;
}

template <class T>
void ResultFile::State::write_whole(const std::string& name, std::vector<hsize_t> shape, const T* data) {
  Written& w = create<T>(name, std::move(shape));
  if (w.bytes > 0) {
    require(H5Dwrite(w.dataset.get(), w.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "writing " + name);
  }
  w.add(0, static_cast<std::int64_t>(w.shape[0]), data, w.bytes);
}

/// Closes a file that will not be finished. HDF5 would try to write its cache and keep the file open on failure, so its
/// descriptor is first redirected to /dev/null, where every write succeeds.
void ResultFile::State::abandon() noexcept {
  if (!file) return;
  prepare_hdf5();
  void* descriptor = nullptr;
  const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_device >= 0 && H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &descriptor) >= 0)
    dup2(null_device, *static_cast<int*>(descriptor));
  if (null_device >= 0) close(null_device);
  written.clear();
  H5Fclose(file.release());
}

void ResultFile::State::refuse_unlike(const std::string& what, bool was_read) const {
  throw Error(ExitCode::output, fmt::format("{}: {} does not read back as it was written{}; the disk may be failing; "
                                            "nothing was left behind, choose another place",
                                            output.name(), what, was_read ? "" : ": " + hdf5_reason()));
}

void ResultFile::State::check_dataset(hid_t reopened, const Written& expected) const {
  const Handle dataset(H5Dopen2(reopened, expected.name.c_str(), H5P_DEFAULT));
  const Handle type(H5Dget_type(dataset.get()));
  const Handle space(H5Dget_space(dataset.get()));
  std::vector<hsize_t> shape(expected.shape.size());
  bool same = dataset && H5Tequal(type.get(), expected.type) > 0 &&
              H5Sget_simple_extent_ndims(space.get()) == static_cast<int>(shape.size()) &&
              H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr) >= 0 && shape == expected.shape &&
              static_cast<std::int64_t>(H5Dget_storage_size(dataset.get())) == expected.bytes;
  const auto sum = same ? dataset_checksum(dataset.get()) : std::nullopt;
  if (sum != expected.checksum()) refuse_unlike(expected.name, sum || (dataset && !same));
}

void ResultFile::State::check_file() const {
  const Handle reopened(H5Fopen(output.descriptor_path().c_str(), H5F_ACC_RDONLY, access_properties().get()));
  require(static_cast<bool>(reopened), "reading back");
  const Handle root(H5Gopen2(reopened.get(), "/", H5P_DEFAULT));
  const auto found = root ? head_checksum(root.get()) : std::nullopt;
  if (found != head || stored_checksum(root.get()) != head)
    refuse_unlike("the list of attributes and datasets", found.has_value());
  for (const auto& expected : written) check_dataset(reopened.get(), expected);
}

ResultFile::ResultFile(const std::string& path, const OutputOptions& options) {
  prepare_hdf5();
  require_library_memory();
  state_ = std::make_unique<State>(path, options);
}

ResultFile::~ResultFile() = default;

const std::vector<std::string>& ResultFile::marks() const { return state_->marks; }

namespace {

/// Type, shape and bytes of the value of an attribute.
struct AttributeValue {
  Handle type;
  Handle space;
  const void* data;
  const char* text = nullptr;  // a text of variable length, whose value is this pointer
};

AttributeValue attribute_value(const std::string& text) {
  Handle type = utf8_type(std::max<std::size_t>(text.size(), 1));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return {std::move(type), Handle(H5Screate(H5S_SCALAR)), text.c_str()};
}
AttributeValue attribute_value(const Text& text) {
  return {utf8_type(H5T_VARIABLE), Handle(H5Screate(H5S_SCALAR)), nullptr, text.value.c_str()};
}
AttributeValue attribute_value(const std::int64_t& value) {
  return {Handle(H5Tcopy(H5T_STD_I64LE)), Handle(H5Screate(H5S_SCALAR)), &value};
}
AttributeValue attribute_value(const std::uint64_t& value) {
  return {Handle(H5Tcopy(H5T_STD_U64LE)), Handle(H5Screate(H5S_SCALAR)), &value};
}
AttributeValue attribute_value(const double& value) {
  return {Handle(H5Tcopy(H5T_IEEE_F64LE)), Handle(H5Screate(H5S_SCALAR)), &value};
}
AttributeValue attribute_value(const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  return {Handle(H5Tcopy(H5T_STD_I64LE)), Handle(H5Screate_simple(1, &count, nullptr)), values.data()};
}

}  // namespace

void ResultFile::attribute(const std::string& name, const Attribute& value) {
  prepare_hdf5();
  const AttributeValue stored = std::visit([](const auto& v) { return attribute_value(v); }, value);
  const Handle attribute(
      H5Acreate2(state_->file.get(), name.c_str(), stored.type.get(), stored.space.get(), H5P_DEFAULT, H5P_DEFAULT));
  state_->require(static_cast<bool>(attribute), "creating the attribute " + name);
  if (H5Sget_simple_extent_npoints(stored.space.get()) == 0) return;
  const Handle memory(H5Tget_native_type(stored.type.get(), H5T_DIR_ASCEND));
  const void* data = stored.text != nullptr ? static_cast<const void*>(&stored.text) : stored.data;
  state_->require(H5Awrite(attribute.get(), memory.get(), data) >= 0, "writing the attribute " + name);
}

void ResultFile::group(const std::string& name) {
  prepare_hdf5();
  state_->make_groups(name + "/");
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
  const auto target = std::ranges::find_if(state_->written, [&](const auto& w) { return w.name == name; });
  const auto columns_of = [](const Written& w) {
    return w.shape.size() == 2 ? static_cast<std::int64_t>(w.shape[1]) : 1;
  };
  if (target == state_->written.end() || H5Tequal(target->type, Stored<T>::type()) <= 0 ||
      values.columns != columns_of(*target) || first_row < 0 || values.rows > target->unwritten_rows) {
    throw Error(ExitCode::internal, fmt::format("{}: rows {} to {} of '{}' do not fit the dataset that was created",
                                                state_->output.name(), first_row, first_row + values.rows, name));
  }
  target->add(first_row, values.rows, values.data, values.size() * static_cast<std::int64_t>(sizeof(T)));
  if (values.size() == 0) return;
  const hsize_t start[2] = {static_cast<hsize_t>(first_row), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(values.rows), static_cast<hsize_t>(values.columns)};
  const Handle in_file(H5Dget_space(target->dataset.get()));
  const Handle in_memory(H5Screate_simple(static_cast<int>(target->shape.size()), count, nullptr));
  state_->require(
      H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) >= 0 &&
          H5Dwrite(target->dataset.get(), target->type, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data) >= 0,
      "writing " + name);
}

void ResultFile::finish() {
  prepare_hdf5();
  require_library_memory();
  for (const auto& w : state_->written) {
    if (w.unwritten_rows != 0) {
      throw Error(ExitCode::internal, fmt::format("{}: {} rows of '{}' were never written", state_->output.name(),
                                                  w.unwritten_rows, w.name));
    }
  }
  state_->store_checksums();
  // Flush while all datasets are open, since closing a dataset does not report errors.
  state_->require(H5Fflush(state_->file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
  for (auto& w : state_->written) w.dataset = Handle();
  // The handle is invalid afterwards, even if closing fails.
  state_->require(H5Fclose(state_->file.release()) >= 0, "closing");
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
KITH_INSTANTIATE(FixedText<16>)
KITH_INSTANTIATE(FixedText<64>)
KITH_INSTANTIATE(FixedText<256>)
KITH_INSTANTIATE(FixedText<4096>)
#undef KITH_INSTANTIATE

}  // namespace kith::data
