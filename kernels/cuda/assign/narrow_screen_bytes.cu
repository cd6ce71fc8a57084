// The narrow screen of byte points.
#include "kernels/cuda/assign/narrow_kernel.h"

namespace kith::cuda {

KITH_INSTANTIATE_NARROW(std::uint8_t)
KITH_INSTANTIATE_NARROW(std::int8_t)

}  // namespace kith::cuda
