// Output files that appear under their name only when complete: temporary file, space, syncing, renaming.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "data/io/output_target.h"
#include "data/io/temporary_file.h"

namespace kith::data {

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

}  // namespace kith::data
