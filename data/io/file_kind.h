// What a file is, by its first bytes, for messages that say what was found and which command converts it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace kith::data {

/// "a NumPy array (.npy)", "text, perhaps comma-separated values (.csv)", "an empty file", "unknown binary data".
/// "a file that cannot be read" if so.
std::string describe_file(const std::string& file);
/// The same for the first bytes of a file.
std::string describe_bytes(std::string_view bytes);
/// "a Lance data set; convert it: ...": a folder in which another program keeps one data set; empty: any other folder.
std::string describe_foreign_folder(const std::string& folder);
/// The command that makes a file of a known format of this one, with IN and OUT for their names; empty if none is
/// known.
std::string conversion_of(const std::string& file);
/// The same for the first bytes of a file.
std::string conversion_of_bytes(std::string_view bytes);

/// Throws Error(data) about a file that has no format that kith reads, with what it is and how to convert it.
[[noreturn]] void refuse_unknown_kind(const std::string& file);

/// At most `count` bytes from the beginning; empty if the file is not regular or cannot be read.
std::string first_bytes(const std::string& file, std::size_t count);

constexpr std::string_view kNumpySignature("\x93NUMPY");

/// Whether these can be the first bytes of a text file.
bool is_text(std::string_view bytes);

/// Describes a file that is not regular: "a directory", "a pipe", "a socket" or "a device". `mode` comes from stat().
const char* describe_special(mode_t mode);

/// Throws Error(data) unless the file exists and is regular; `expected` describes it in the message ("a NumPy array").
void require_regular(const std::string& file, const std::string& expected);

/// Whether the name has this ending; ignores case.
bool has_ending(std::string_view name, std::string_view ending);

/// Whether the file has the signature of HDF5, at the start or after a user block of 512, 1024, 2048, ... bytes.
bool has_hdf5_signature(const std::string& file);

struct Kind {
  const char* name = nullptr;  // "a Stata file"; null: unknown
  /// The command that makes a file of a known format of it, with IN and OUT for the names; empty if none is known.
  const char* convert = "";
};

/// The kind of a file with these first bytes, of which there may be up to a few thousand.
Kind kind_of(std::string_view bytes);

/// The kind of a picture that kith does not read, also where its first bytes could be text.
Kind kind_of_picture(std::string_view bytes);

/// Whether the bytes begin with the signature of a kind that is no text.
bool has_signature(std::string_view bytes);

}  // namespace kith::data
