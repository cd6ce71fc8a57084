// The paths of the CUDA screen: which unit of the card multiplies, and which of them a device has.
#pragma once

#include <string>
#include <vector>

namespace kith::cuda {

/// What the screen of an assignment multiplies with. Results do not depend on it.
enum class ScreenPath {
  wgmma,    // fp16, warpgroups and bulk copies of compute capability 9.0
  mma,      // fp16, warps and asynchronous copies of compute capability 8.0 and later
  float32,  // every device
};

const char* name_of(ScreenPath path);

/// The names of the paths that this device and this build have, best first; never empty.
std::vector<std::string> screen_paths(int device);

/// The path of this name, "auto" for the best. Throws Error(usage) where the device does not have it.
ScreenPath choose_screen_path(const std::string& name, int device);

/// Whether this device and this build have the product of fp16 on a path. Defined in fp16_screen.cu.
bool device_multiplies_fp16(ScreenPath path, int device);

}  // namespace kith::cuda
