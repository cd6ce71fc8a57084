// What both additions to a copy of an AnnData file need: the copy of its bytes, and HDF5 calls that report failures.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "data/hdf5/hdf5_handle.h"
#include "data/io/output_file.h"

namespace kith::data {

/// Copies the bytes and the permissions of the file, to which the owner may then write. Throws Error(output).
void copy_bytes(const std::string& from, const OutputFile& output);

/// Opens the copy with these flags of HDF5; empty if that fails.
Handle open_copy(const std::string& copy, unsigned flags);

/// Throws Error(output) with HDF5's reason if an action failed.
class CopyChecker {
 public:
  explicit CopyChecker(std::string name) : name_(std::move(name)) {}
  void operator()(bool succeeded, const char* action) const;

 private:
  std::string name_;
};

/// The attributes of an encoding of AnnData.
void write_encoding(const CopyChecker& check, hid_t object, const char* type, const char* version = "0.2.0");

Handle make_vector(const CopyChecker& check, hid_t group, const char* name, hid_t type, std::int64_t size);

/// Selects elements first .. first + count - 1 of a vector in the file.
Handle select(hid_t dataset, std::int64_t first, std::int64_t count);
Handle memory_space(std::int64_t count);

}  // namespace kith::data
