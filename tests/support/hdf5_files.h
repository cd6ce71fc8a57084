// Makes HDF5 files for the tests of data/ through the C API, and damages them.
#pragma once

#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/hdf5/hdf5_handle.h"
#include "tests/support/catch.h"

namespace kith::testing {

/// Sets HDF5 up as kith does, before the first call of a test.
inline const bool hdf5_is_prepared = (data::prepare_hdf5(), true);

/// A temporary directory for one test, removed with its contents.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kith-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The layout of a dataset; the defaults are those of HDF5.
struct Layout {
  std::vector<hsize_t> chunk = {};
  bool compact = false;
  bool shuffle = false;
  bool fletcher32 = false;
  int deflate = -1;
  int scale_offset = -1;
};

inline hid_t creation_of(const Layout& layout) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.compact) H5Pset_layout(creation, H5D_COMPACT);
  if (!layout.chunk.empty()) H5Pset_chunk(creation, static_cast<int>(layout.chunk.size()), layout.chunk.data());
  if (layout.scale_offset >= 0) H5Pset_scaleoffset(creation, H5Z_SO_INT, layout.scale_offset);
  if (layout.shuffle) H5Pset_shuffle(creation);
  if (layout.deflate >= 0) H5Pset_deflate(creation, static_cast<unsigned>(layout.deflate));
  if (layout.fletcher32) H5Pset_fletcher32(creation);
  return creation;
}

/// A file under construction.
class FileMaker {
 public:
  explicit FileMaker(const std::string& name) : id_(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {
    REQUIRE(id_ >= 0);
  }
  FileMaker(const FileMaker&) = delete;
  FileMaker& operator=(const FileMaker&) = delete;
  ~FileMaker() { H5Fclose(id_); }
  hid_t id() const { return id_; }

  /// Creates a dataset and writes `data`, which has elements of `memory_type`; writes nothing if it is null.
  void dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t memory_type,
               const void* data, const Layout& layout = {}) {
    const hid_t creation = creation_of(layout);
    made(name, type, shape, creation, memory_type, data);
    H5Pclose(creation);
  }
  void made(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t creation,
            hid_t memory_type = H5I_INVALID_HID, const void* data = nullptr) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t dataset = H5Dcreate2(id_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    if (data != nullptr) REQUIRE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
  }
  void floats(const std::string& name, const std::vector<hsize_t>& shape, const std::vector<float>& values,
              const Layout& layout = {}) {
    dataset(name, H5T_IEEE_F32LE, shape, H5T_NATIVE_FLOAT, values.data(), layout);
  }
  void group(const std::string& name) {
    H5Gclose(H5Gcreate2(id_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }

 private:
  hid_t id_;
};

/// IEEE half, little-endian; HDF5 1.10 has no name for it.
inline hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

inline std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
inline void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Replaces the only occurrence of `from`.
inline std::string patched(std::string bytes, const std::string& from, const std::string& to) {
  const auto at = bytes.find(from);
  REQUIRE(at != bytes.npos);
  REQUIRE(bytes.find(from, at + 1) == bytes.npos);
  return bytes.replace(at, to.size(), to);
}

/// The bytes of values in a file.
inline std::string raw(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Runs a function that must throw kith::Error with this code and all these words in its message. Returns the message.
inline std::string refused(ExitCode code, const std::function<void()>& action,
                           std::initializer_list<const char*> words) {
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

/// Detects whether any process has opened a file since the construction.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& file) : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    REQUIRE(inotify_add_watch(descriptor_, file.c_str(), IN_OPEN) >= 0);
  }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;
  ~OpenWatch() { close(descriptor_); }
  bool opened() const {
    char event[4096];
    return read(descriptor_, event, sizeof event) > 0;
  }

 private:
  int descriptor_;
};

}  // namespace kith::testing
