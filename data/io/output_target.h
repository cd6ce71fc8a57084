// Where an output may be written: checks of its name, of the file that it replaces and of its directory.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "data/io/temporary_file.h"

namespace kith::data {

struct OutputOptions {
  bool force = false;      // replace an existing regular file
  bool may_equal = false;  // unless forced: an existing file with the bytes of the new one stays as it is
  std::vector<std::string> inputs =
      {};                               // files that must not be overwritten, compared by identity; "-": standard input
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

}  // namespace kith::data
