// The type of sums on the device.
#pragma once

namespace kith::cuda {

using Word = unsigned long long;  // the type of CUDA's 64-bit atomics; signed sums wrap to the right bits

}  // namespace kith::cuda
