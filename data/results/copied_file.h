// What both additions to a copy of an AnnData file need: the copy of its bytes, HDF5 calls that report failures, and
// the comparison with the original.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/hdf5_handle.h"
#include "data/io/output_file.h"
#include "data/results/hdf5_comparison.h"

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

/// Values of one call, so that a child process needs little memory.
inline constexpr std::int64_t kValuesAtOnce = std::int64_t{1} << 18;

/// Writes values first .. first + count - 1 of a vector; type: theirs in memory.
void write_values(const CopyChecker& check, hid_t dataset, hid_t type, std::int64_t first, std::int64_t count,
                  const void* values);
/// Whether a vector has `size` values with this CRC-32 in memory.
bool has_values(hid_t dataset, hid_t type, std::int64_t size, std::int64_t checksum);

/// The first object that differs between the original and the copy with its addition, empty if none does. Throws
/// Error(data) if a part of the original cannot be read.
std::string find_change(const Hdf5InputFile& original, hid_t copy, const Addition& addition);

/// HDF5 does not report every write that fails. Throws Error(output) if `wrong` names an object of the copy.
void require_intact(const std::string& wrong, const std::string& output, const std::string& original);

}  // namespace kith::data
