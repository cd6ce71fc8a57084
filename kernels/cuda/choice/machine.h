// What a device can do in a second, for the choices between methods.
#pragma once

#include "core/points/decision.h"
#include "kernels/cuda/runtime/screen_path.h"

namespace kith::cuda {

/// Definitions in the time of one of a row anywhere: in the walk of a list, or of a candidate. Measured.
inline constexpr double kScattered = 2.0;

/// The rates of the device by its properties. path: the instructions that multiply in fp16; with ScreenPath::float32
/// there are none, and that rate is 0.
Machine device_machine(int device, ScreenPath path);

}  // namespace kith::cuda
