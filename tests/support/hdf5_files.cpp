// Scratch folders, HDF5 files, and the errors that they must cause.
#include "tests/support/hdf5_files.h"

#include <stdlib.h>
#include <sys/inotify.h>

#include <fstream>
#include <iterator>

namespace kith::testing {

hid_t creation_of(const Layout& layout) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.compact) H5Pset_layout(creation, H5D_COMPACT);
  if (!layout.chunk.empty()) H5Pset_chunk(creation, static_cast<int>(layout.chunk.size()), layout.chunk.data());
  if (layout.scale_offset >= 0) H5Pset_scaleoffset(creation, H5Z_SO_INT, layout.scale_offset);
  if (layout.shuffle) H5Pset_shuffle(creation);
  if (layout.deflate >= 0) H5Pset_deflate(creation, static_cast<unsigned>(layout.deflate));
  if (layout.fletcher32) H5Pset_fletcher32(creation);
  return creation;
}

hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const std::string& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::string patched(std::string bytes, const std::string& from, const std::string& to) {
  const auto at = bytes.find(from);
  REQUIRE(at != bytes.npos);
  REQUIRE(bytes.find(from, at + 1) == bytes.npos);
  return bytes.replace(at, to.size(), to);
}

std::string raw(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string refused(ExitCode code, const std::function<void()>& action, std::initializer_list<const char*> words) {
  try {
    action();
  } catch (const Error& error) {
    std::string message = error.what();
    INFO(message);
    CHECK(error.code() == code);
    for (const char* word : words) {
      INFO("expected in it: " << word);
      CHECK(message.find(word) != message.npos);
    }
    return message;
  }
  FAIL("nothing was thrown");
  return "";
}

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kith-test-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

FileMaker::FileMaker(const std::string& name) : id_(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
  REQUIRE(id_ >= 0);
}

void FileMaker::dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t memory_type,
                        const void* data, const Layout& layout) {
  const hid_t creation = creation_of(layout);
  made(name, type, shape, creation, memory_type, data);
  H5Pclose(creation);
}

void FileMaker::made(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t creation,
                     hid_t memory_type, const void* data) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t dataset = H5Dcreate2(id_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  if (data != nullptr) REQUIRE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

OpenWatch::OpenWatch(const std::string& file) : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  REQUIRE(inotify_add_watch(descriptor_, file.c_str(), IN_OPEN) >= 0);
}

bool OpenWatch::opened() const {
  char event[4096];
  return read(descriptor_, event, sizeof event) > 0;
}

}  // namespace kith::testing
