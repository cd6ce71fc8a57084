// Copies a file, adds groups, vectors and encodings to it, and reads them back.
#include "data/results/copied_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "data/hdf5/hdf5_driver.h"
#include "data/hdf5/hdf5_path.h"
#include "data/io/checksum.h"
#include "data/io/input_error.h"
#include "data/io/temporary_file.h"

namespace kith::data {
namespace {

/// Selects elements first .. first + count - 1 of a vector in the file.
Handle select(hid_t dataset, std::int64_t first, std::int64_t count) {
  const auto start = static_cast<hsize_t>(first), size = static_cast<hsize_t>(count);
  Handle space(H5Dget_space(dataset));
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &size, nullptr) < 0) return Handle();
  return space;
}

Handle memory_space(std::int64_t count) {
  const auto size = static_cast<hsize_t>(count);
  return Handle(H5Screate_simple(1, &size, nullptr));
}

}  // namespace

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

Handle open_copy(const std::string& copy, unsigned flags) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  if (flags == H5F_ACC_RDONLY) {
    set_reading_driver(access.get());
  } else {
    H5Pset_fapl_sec2(access.get());
  }
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), false, true);  // no other program uses the file
  return Handle(H5Fopen(copy.c_str(), flags, access.get()));
}

void CopyChecker::operator()(bool succeeded, const char* action) const {
  if (succeeded) return;
  throw Error(ExitCode::output,
              fmt::format("{}: {} failed: {}; nothing was left behind", name_, action, hdf5_reason()));
}

void write_encoding(const CopyChecker& check, hid_t object, const char* type, const char* version) {
  for (const auto& [name, text] : {std::pair("encoding-type", type), {"encoding-version", version}}) {
    const Handle kind = utf8_type(H5T_VARIABLE), space(H5Screate(H5S_SCALAR));
    const Handle attribute(H5Acreate2(object, name, kind.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    check(attribute && H5Awrite(attribute.get(), kind.get(), &text) >= 0, "writing an attribute");
  }
}

Handle make_vector(const CopyChecker& check, hid_t group, const char* name, hid_t type, std::int64_t size) {
  const auto count = static_cast<hsize_t>(size);
  const Handle space(H5Screate_simple(1, &count, nullptr)), creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  Handle dataset(H5Dcreate2(group, name, type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(dataset), "creating a dataset");
  return dataset;
}

void write_values(const CopyChecker& check, hid_t dataset, hid_t type, std::int64_t first, std::int64_t count,
                  const void* values) {
  const Handle in_file = select(dataset, first, count), in_memory = memory_space(count);
  check(in_file && H5Dwrite(dataset, type, in_memory.get(), in_file.get(), H5P_DEFAULT, values) >= 0,
        "writing the values");
}

bool has_values(hid_t dataset, hid_t type, std::int64_t size, std::int64_t checksum) {
  const Handle space(H5Dget_space(dataset));
  if (H5Sget_simple_extent_npoints(space.get()) != size) return false;
  const std::size_t width = H5Tget_size(type);
  std::vector<std::byte> values(static_cast<std::size_t>(std::min(size, kValuesAtOnce)) * width);
  Checksum sum;
  for (std::int64_t first = 0; first < size; first += kValuesAtOnce) {
    const std::int64_t count = std::min(kValuesAtOnce, size - first);
    const Handle in_file = select(dataset, first, count), in_memory = memory_space(count);
    if (H5Dread(dataset, type, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()) < 0) return false;
    sum.add(values.data(), static_cast<std::size_t>(count) * width);
  }
  return sum.value() == checksum;
}

std::string find_change(const Hdf5InputFile& original, hid_t copy, const Addition& addition) {
  std::string difference = find_difference(original.id(), copy, addition);
  if (difference.empty()) return "";
  const std::string unreadable = find_difference(original.id(), original.id(), {});
  if (unreadable.empty()) return difference;
  refuse_input(fmt::format("{}:{}", original.name(), unreadable),
               "cannot be read; the file is damaged: copy or create it again");
}

void require_intact(const std::string& wrong, const std::string& output, const std::string& original) {
  if (wrong.empty()) return;
  throw Error(ExitCode::output,
              fmt::format("{}: {} does not read back as it was written; the disk may be failing, or {} has changed "
                          "meanwhile; nothing was left behind, run the command again",
                          output, wrong, original));
}

}  // namespace kith::data
