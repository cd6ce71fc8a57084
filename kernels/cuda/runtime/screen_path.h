// The paths of the CUDA screen: which instructions multiply, and which of them a device supports.
#pragma once

#include <string>
#include <vector>

namespace kith::cuda {

/// The instructions of a screen's products. Results do not depend on the path.
enum class ScreenPath {
  wgmma,    // fp16: warpgroups and bulk copies, compute capability 9.0
  mma,      // fp16: warps and asynchronous copies, compute capability 8.0 and later
  float32,  // every device
};

const char* name_of(ScreenPath path);

/// The names of the paths that this device and this build support, best first; never empty.
std::vector<std::string> screen_paths(int device);

/// The path of this name, or the best for "auto". Throws Error(usage) if the device does not support it.
ScreenPath choose_screen_path(const std::string& name, int device);

/// Whether this device and this build support the fp16 product of a path. Defined in assign/fp16_screen.cu.
bool device_multiplies_fp16(ScreenPath path, int device);

}  // namespace kith::cuda
