// The narrow screen of float32 and float64 points.
#include "kernels/cuda/assign/narrow_kernel.h"

namespace kith::cuda {

KITH_INSTANTIATE_NARROW(float)
KITH_INSTANTIATE_NARROW(double)

}  // namespace kith::cuda
