// Output files: where they may be written, files that appear under their name only when complete, and buffered writing
// with a check of what reached the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/io/checksum.h"
#include "data/io/temporary_file.h"

namespace kith::data {

struct OutputOptions {
  bool force = false;      // replace an existing regular file
  bool may_equal = false;  // unless forced: an existing file with the bytes of the new one stays as it is
  std::vector<std::string> inputs =
      {};  // files that must not be overwritten, compared by identity; "-": standard input
  /// The files that an input stands for, if it is a set of them; null: each input is one file.
  std::vector<std::string> (*files_of)(const std::string& input) = nullptr;
  std::vector<std::string> marks = {};  // of the inputs, for a result that names them
  /// The usual ending of the name, then other allowed ones. Endings that stand for other formats are refused.
  std::vector<std::string> endings = {".h5"};
};

/// The place of an output. All later steps use the open directory, so that they mean the same one.
struct OutputTarget {
  Descriptor directory;
  std::string directory_name;
  std::string name;  // of the file in the directory
  struct Replaced {
    mode_t mode;  // permissions alone
    gid_t group;
  };
  std::optional<Replaced> replaced;  // an existing file
};

/// Checks that `path` can be written: the directory exists and is writable; the target is absent or replaceable,
/// regular, and not an input. A symbolic link stands for the file that it names. Throws Error(output) with the reason
/// and the remedy.
OutputTarget open_target(const std::string& path, const OutputOptions& options);

/// The same checks, before any work.
void check_output(const std::string& path, const OutputOptions& options);

/// A temporary file in the directory of its target, which takes the name of the target when it is published.
class OutputFile {
 public:
  /// Checks the target like check_output(), and creates the temporary file. Throws Error(output).
  OutputFile(const std::string& path, const OutputOptions& options);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }  // as the user wrote it
  int descriptor() const { return file_.descriptor(); }
  /// A name of the open file itself, for libraries that want a name, also in child processes. Throws Error(output) if
  /// the temporary file has been replaced in its directory.
  std::string descriptor_path() const;
  /// Throws Error(output) unless the file system has this many bytes free.
  void require_space(std::int64_t bytes) const;
  /// Permissions of a new file, in place of the usual ones. A file that replaces another one takes those of the other.
  void set_mode(mode_t mode) const;
  /// Writes the bytes to the disk and drops them from the page cache, so that a later check reads them from the disk.
  void sync() const;
  /// Renames the file to its target with the mode of the file that it replaces, and syncs the directory to the disk.
  /// With OutputOptions::may_equal, an equal file keeps its name, and another one is an error.
  void publish();

 private:
  [[noreturn]] void fail(const char* doing) const;
  void check_name() const;
  bool equals_target() const;
  void keep_mode() const;

  std::string name_;
  bool force_, may_equal_;
  OutputTarget target_;
  TemporaryFile file_;
};

/// Writes an output that is no HDF5 file. Every function throws Error(output) with the system's reason.
class OutputBytes {
 public:
  /// Checks the target and creates a temporary file, as OutputFile does.
  OutputBytes(const std::string& path, const OutputOptions& options);

  void require_space(std::int64_t bytes) const { file_.require_space(bytes); }
  void write(const void* bytes, std::size_t count);
  void write(const std::string& text) { write(text.data(), text.size()); }
  /// Continues at this byte of the file. No byte may be written twice.
  void seek(std::int64_t position);
  /// Writes everything to the disk, reads it back, compares its checksums with those of the written bytes, calls
  /// `before_naming`, and gives the file its name.
  void publish(const std::function<void()>& before_naming = [] {});

 private:
  /// Bytes that were written one after another.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
    Checksum checksum;
  };
  void flush();
  void check() const;
  [[noreturn]] void fail(const char* doing, int error) const;

  OutputFile file_;
  std::vector<char> buffer_;
  std::vector<Part> parts_;  // the last one ends with the buffer
};

}  // namespace kith::data
