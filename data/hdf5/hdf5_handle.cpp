// Set-up of the HDF5 library for a thread, and the reading of its error stack.
#include "data/hdf5/hdf5_handle.h"

#include <fmt/format.h>

#include <mutex>

namespace kith::data {
namespace {

thread_local std::string last_reason;

/// Keeps the first entry of a walk from the innermost function outwards.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* entry, void* text) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

/// HDF5 calls this where it would print. The next call of any kind, a handle's closing too, forgets the error.
herr_t remember(hid_t stack, void*) {
  last_reason.clear();
  H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, &last_reason);
  return 0;
}

}  // namespace

void prepare_hdf5() {
  static std::once_flag once;
  std::call_once(once, [] {
    // The library's own work at exit would write to files that failed, again and again; handles close them instead.
    H5dont_atexit();
    H5open();
    // A data file or the environment must not be able to name code that is then loaded.
    H5PLset_loading_state(0);
  });
  H5Eset_auto2(H5E_DEFAULT, remember, nullptr);
}

std::string hdf5_reason() {
  // "file write failed: time = ..., errno = 28, error message = 'No space left on device', buf = ...": the message will
  // do.
  const std::string key = "error message = '";
  if (const auto begin = last_reason.find(key); begin != std::string::npos) {
    const auto from = begin + key.size();
    return last_reason.substr(from, last_reason.find('\'', from) - from);
  }
  return last_reason.empty() ? "HDF5 gives no reason" : last_reason;
}

std::string damage(const std::string& reason) {
  if (reason.find("bad version number") == std::string::npos) return "damaged: " + reason;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format(
      "probably written by a newer HDF5 than the {}.{}.{} of this program ({}); where that is installed, rewrite the "
      "file "
      "with `h5repack --high=1`, or make it without libver='latest'",
      major, minor, release, reason);
}

}  // namespace kith::data
