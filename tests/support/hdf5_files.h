// Makes HDF5 files for the tests of data/ through the C API, and damages them.
#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/hdf5/hdf5_file.h"
#include "tests/support/catch.h"

namespace kith::testing {

/// Sets HDF5 up as kith does, before the first call of a test.
inline const bool hdf5_is_prepared = (data::prepare_hdf5(), true);

/// A temporary directory for one test, removed with its contents.
class Scratch {
 public:
  Scratch();
  ~Scratch();
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

hid_t creation_of(const Layout& layout);

/// A file under construction.
class FileMaker {
 public:
  explicit FileMaker(const std::string& name);
  FileMaker(const FileMaker&) = delete;
  FileMaker& operator=(const FileMaker&) = delete;
  ~FileMaker() { H5Fclose(id_); }
  hid_t id() const { return id_; }

  /// Creates a dataset and writes `data`, which has elements of `memory_type`; writes nothing if it is null.
  void dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t memory_type,
               const void* data, const Layout& layout = {});
  void made(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, hid_t creation,
            hid_t memory_type = H5I_INVALID_HID, const void* data = nullptr);
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
hid_t half_type();

std::string bytes_of(const std::string& file);
void write_bytes(const std::string& file, const std::string& bytes);

/// Replaces the only occurrence of `from`.
std::string patched(std::string bytes, const std::string& from, const std::string& to);

/// The bytes of values in a file.
std::string raw(const std::vector<float>& values);

/// Runs a function that must throw kith::Error with this code and all these words in its message. Returns the message.
std::string refused(ExitCode code, const std::function<void()>& action, std::initializer_list<const char*> words);

/// Detects whether any process has opened a file since the construction.
class OpenWatch {
 public:
  explicit OpenWatch(const std::string& file);
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;
  ~OpenWatch() { close(descriptor_); }
  bool opened() const;

 private:
  int descriptor_;
};

}  // namespace kith::testing
