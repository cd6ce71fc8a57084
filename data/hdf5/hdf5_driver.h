// HDF5's access to a file: reads it with the operating system, and can tell where the library would read.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace kith::data {

/// Sets the driver of a list of file access properties. It reads, and never writes. H5Fget_vfd_handle gives a pointer
/// to the descriptor.
void set_reading_driver(hid_t access);

/// A range of bytes of a file.
struct StoredBytes {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// Runs `read`, in which the library reads values from a file with this driver, and returns where it read, instead of
/// reading: memory that receives the values stays as it is. nullopt if it read no values, or several ranges.
std::optional<StoredBytes> find_stored_bytes(const std::function<void()>& read);

}  // namespace kith::data
