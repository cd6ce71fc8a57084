// Output files that appear under their name only when complete: checks, temporary file, renaming, removal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kith::data {

struct OutputOptions {
  bool force = false;                    // replace an existing regular file
  std::vector<std::string> inputs = {};  // files that must not be overwritten, compared by identity, not by name
  /// The usual ending of the name, then other allowed ones. Endings that stand for other formats are refused.
  std::vector<std::string> endings = {".h5"};
};

/// Checks before any work that `path` can be written: the directory exists and is writable; the target is absent or
/// replaceable, regular, and not an input. Throws Error(output) with the reason and the remedy.
void check_output(const std::string& path, const OutputOptions& options);

/// Removes the temporary files of this process. Returns whether there was one. Async-signal-safe.
bool remove_temporary_files_from_signal() noexcept;

/// A hidden temporary file of this process in the directory of its target. Until it is published, its destructor and
/// remove_temporary_files_from_signal() remove it.
class OutputFile {
 public:
  /// Checks the target like check_output(), and creates the temporary file. Throws Error(output).
  OutputFile(const std::string& path, const OutputOptions& options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& name() const { return name_; }            // as the user wrote it
  const std::string& temporary() const { return temporary_; }  // the file to write to
  /// Throws Error(output) unless the file system has this many bytes free.
  void require_space(std::int64_t bytes) const;
  /// Writes the bytes to the disk and drops them from the page cache, so that a later check reads them from the disk.
  void sync();
  /// Renames the file to its target with the mode of the file that it replaces, and syncs the directory to the disk.
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
