// An HDF5 file that is open for reading, with a check that it has not changed.
#pragma once

#include <cstdint>
#include <string>

#include "data/hdf5/hdf5_handle.h"
#include "data/io/input_bytes.h"

namespace kith::data {

class Hdf5InputFile {
 public:
  /// Opens read-only, with a lock if the file system supports locks. Throws Error(data) with the reason: missing, not
  /// readable, not HDF5, truncated, open for writing in another program, not closed by a program that crashed.
  explicit Hdf5InputFile(const std::string& file);

  const std::string& name() const { return name_; }
  hid_t id() const { return handle_.get(); }
  std::int64_t bytes() const { return state_.size(); }
  const FileState& state() const { return state_; }
  int descriptor() const { return descriptor_; }  // valid during the lifetime of the object; use it with pread() only
  /// Throws Error(data) if the file has changed since it was opened; HDF5 itself would silently read zeros.
  void check_unchanged() const;

 private:
  std::string name_;
  Handle handle_;
  FileState state_;
  int descriptor_ = -1;  // HDF5's own, borrowed
};

}  // namespace kith::data
