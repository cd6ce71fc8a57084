// An HDF5 file that is open for reading, and that it stays the file that was opened.
#pragma once

#include <cstdint>
#include <string>

#include "data/hdf5/hdf5_handle.h"
#include "data/io/input_bytes.h"

namespace kith::data {

class Hdf5InputFile {
 public:
  /// Opens read-only, locked as far as the file system can. Throws Error(data) with the reason: missing, not readable,
  /// not HDF5 (and what it looks like), truncated, open for writing elsewhere, left open by a program that crashed.
  explicit Hdf5InputFile(const std::string& file);

  const std::string& name() const { return name_; }
  hid_t id() const { return handle_.get(); }
  std::int64_t bytes() const { return state_.size(); }
  int descriptor() const { return descriptor_; }  // open for reading as long as the object lives; has no position
  /// Throws Error(data) when the file was cut or written to since it was opened: HDF5 would read zeros and say nothing.
  void check_unchanged() const;

 private:
  std::string name_;
  Handle handle_;
  FileState state_;
  int descriptor_ = -1;  // HDF5's own, borrowed
};

}  // namespace kith::data
