// The table of screen paths, and the choice among those that a device supports.
#include "kernels/cuda/runtime/screen_path.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"

namespace kith::cuda {
namespace {

struct Entry {
  ScreenPath path;
  const char* name;  // for --screen
};

constexpr std::array<Entry, 3> kTable{{
    // best first
    {ScreenPath::wgmma, "wgmma"},
    {ScreenPath::mma, "mma"},
    {ScreenPath::float32, "float32"},
}};

bool device_has(ScreenPath path, int device) {
  return path == ScreenPath::float32 || device_multiplies_fp16(path, device);
}

}  // namespace

const char* name_of(ScreenPath path) {
  for (const Entry& entry : kTable) {
    if (entry.path == path) return entry.name;
  }
  return "unknown";
}

std::vector<std::string> screen_paths(int device) {
  std::vector<std::string> names;
  for (const Entry& entry : kTable) {
    if (device_has(entry.path, device)) names.emplace_back(entry.name);
  }
  return names;
}

ScreenPath choose_screen_path(const std::string& name, int device) {
  for (const Entry& entry : kTable) {
    if ((name == "auto" || name == entry.name) && device_has(entry.path, device)) return entry.path;
  }
  throw Error(ExitCode::device, fmt::format("--screen {}: not available on device {} with the code in this build; "
                                            "expected auto, {}",
                                            name, device, fmt::join(screen_paths(device), ", ")));
}

}  // namespace kith::cuda
