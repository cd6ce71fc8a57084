// Attributes of HDF5 files made by tests.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace kith::testing {

/// The attribute takes the ownership of type and space. Throws std::runtime_error if it cannot be written.
inline void write_attribute(hid_t object, const char* name, hid_t type, hid_t space, hid_t memory, const void* value) {
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool written = H5Awrite(attribute, memory, value) >= 0;
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
  if (!written) throw std::runtime_error(std::string("cannot write the attribute ") + name);
}

inline void write_text_attribute(hid_t object, const char* name, const char* text, bool variable) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, variable ? H5T_VARIABLE : std::string(text).size());
  write_attribute(object, name, type, H5Screate(H5S_SCALAR), type, variable ? static_cast<const void*>(&text) : text);
}

inline void write_sizes(hid_t object, const char* name, const std::vector<std::int64_t>& sizes) {
  const hsize_t count = sizes.size();
  write_attribute(object, name, H5Tcopy(H5T_STD_I64LE), H5Screate_simple(1, &count, nullptr), H5T_NATIVE_INT64,
                  sizes.data());
}

}  // namespace kith::testing
