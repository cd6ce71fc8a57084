// Sets up the HDF5 library for a thread, and reads its error stack.
#include "data/hdf5/hdf5_handle.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "data/hdf5/hdf5_filters.h"

namespace kith::data {
namespace {

thread_local std::string last_reason;

/// Keeps the first entry of a walk that starts at the innermost function.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* entry, void* text) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

/// HDF5 calls this instead of printing. The message must be stored here, since any next call clears the error stack,
/// even the closing of a handle.
herr_t remember(hid_t stack, void*) {
  last_reason.clear();
  H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, &last_reason);
  return 0;
}

}  // namespace

void require_library_memory() {
  constexpr std::size_t kBytes = std::size_t{8} << 20, kBlock = std::size_t{64} << 10;  // blocks like the library's own
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t taken = 0; taken < kBytes; taken += kBlock) blocks.emplace_back(new char[kBlock]);
}

void prepare_hdf5() {
  static std::once_flag once;
  std::call_once(once, [] {
    require_library_memory();
    // At exit the library would retry writing to files that failed; the handles close all files instead.
    H5dont_atexit();
    if (H5open() < 0) throw std::bad_alloc();  // half a library would write to memory that it does not have
    // Neither a data file nor the environment may make the library load code.
    H5PLset_loading_state(0);
    register_filters();
  });
  H5Eset_auto2(H5E_DEFAULT, remember, nullptr);
}

std::string hdf5_reason() {
  // Keep the message of "file write failed: ..., error message = 'No space left on device', buf = ...".
  const std::string key = "error message = '";
  if (const auto begin = last_reason.find(key); begin != std::string::npos) {
    const auto from = begin + key.size();
    return last_reason.substr(from, last_reason.find('\'', from) - from);
  }
  return last_reason.empty() ? "HDF5 gives no reason" : last_reason;
}

std::string describe_damage(const std::string& reason) {
  // A number of a superblock that no HDF5 has yet may also be a damaged byte.
  const bool is_superblock = reason.find("bad superblock version number") != std::string::npos;
  if (!is_superblock && reason.find("bad version number") == std::string::npos) return "damaged: " + reason;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format(
      "{} written by a newer HDF5 than the {}.{}.{} that kith uses ({}); create it without libver='latest', or "
      "copy its values with the newer version: h5repack --high=1 IN.h5 OUT.h5, or python3 -c \"import h5py; a, b = "
      "h5py.File('IN.h5'), h5py.File('OUT.h5', 'w'); a.visititems(lambda n, o: b.update({{n: o[()]}}) if hasattr(o, "
      "'dtype') else None)\"",
      is_superblock ? "damaged, or" : "probably", major, minor, release, reason);
}

Handle utf8_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), size);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

}  // namespace kith::data
