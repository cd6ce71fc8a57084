// A file that takes its name only when it is whole: the checks before, the temporary file, the renaming, the removal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "data/results/result.h"

namespace kith::data {

/// A temporary file in the directory of its target, hidden, owned by this process. Removed by its destructor and by
/// remove_temporary_files_from_signal() until it is published.
class OutputFile {
 public:
  /// Checks the target as check_output does, and creates the temporary file. Throws Error(output).
  OutputFile(const std::string& path, const OutputOptions& options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }            // as the user wrote it
  const std::string& temporary() const { return temporary_; }  // to be written to
  /// Throws Error(output) unless the file system has room for so many bytes more.
  void require_space(std::int64_t bytes) const;
  /// Forces the bytes to the disk and out of the page cache, so that a check after it reads what the disk has.
  void sync();
  /// Gives the file its name, and the mode of the file that it replaces, and forces the directory to the disk.
  void publish();

 private:
  [[noreturn]] void fail(const char* doing) const;
  void keep_mode() const;

  struct Replaced {
    mode_t mode;  // permissions alone
    gid_t group;
  };

  std::string name_;
  std::string target_;  // name_, or what it links to
  std::string temporary_;
  std::optional<Replaced> replaced_;
  bool force_ = false;
  int descriptor_ = -1;
  int slot_ = -1;  // in the table that the signal handler reads
};

}  // namespace kith::data
