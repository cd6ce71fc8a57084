// Set-up of the HDF5 library for a thread, and the reading of its error stack.
#include "data/hdf5_handle.h"

#include <mutex>

namespace kith::data {
namespace {

/// Keeps the first entry of a walk from the innermost function outwards.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* entry, void* text) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
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
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  // "file write failed: time = ..., errno = 28, error message = 'No space left on device', buf = ...": the message will
  // do.
  const std::string key = "error message = '";
  if (const auto begin = text.find(key); begin != std::string::npos) {
    const auto from = begin + key.size();
    text = text.substr(from, text.find('\'', from) - from);
  }
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace kith::data
