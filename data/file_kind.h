// A guess at what kind of file something is, from its first bytes, for messages that say what was found instead.
#pragma once

#include <sys/types.h>

#include <string>

namespace kith::data {

/// "a NumPy array (.npy)", "text, perhaps comma-separated values (.csv)", "an empty file", "unknown binary data".
/// The file must be readable; if it is not, the answer says so.
std::string looks_like(const std::string& file);

/// What a file is that is not regular: "a directory", "a pipe", "a socket" or "a device". `mode` is that of stat().
const char* special_kind(mode_t mode);

/// Is there the signature of HDF5, at the start or behind a user block of 512, 1024, 2048, ... bytes?
bool has_hdf5_signature(const std::string& file);

}  // namespace kith::data
