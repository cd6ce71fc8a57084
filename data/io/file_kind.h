// A guess at what kind of file something is, from its first bytes, for messages that say what was found instead.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace kith::data {

/// "a NumPy array (.npy)", "text, perhaps comma-separated values (.csv)", "an empty file", "unknown binary data".
/// The file must be readable; if it is not, the answer says so.
std::string looks_like(const std::string& file);
/// The same of a file's first bytes.
std::string kind_of(std::string_view bytes);

/// At most `count` bytes from the beginning; none when it is not a regular file or cannot be read.
std::string first_bytes(const std::string& file, std::size_t count);

/// Could these be the first bytes of a text file?
bool is_text(std::string_view bytes);

/// What a file is that is not regular: "a directory", "a pipe", "a socket" or "a device". `mode` is that of stat().
const char* special_kind(mode_t mode);

/// Does the name end so, in capitals or not?
bool has_ending(std::string_view name, std::string_view ending);

/// Is there the signature of HDF5, at the start or behind a user block of 512, 1024, 2048, ... bytes?
bool has_hdf5_signature(const std::string& file);

}  // namespace kith::data
