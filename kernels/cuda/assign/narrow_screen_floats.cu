// The narrow screen of float32 and float64 points.
#include "kernels/cuda/assign/narrow_kernel.h"

namespace kith::cuda {

#define KITH_INSTANTIATE(T)                                                                                    \
  template void screen_narrow(const HeldRows<T>&, const Float32Screen&, const PointOperand<T>&, std::int32_t*, \
                              const AmbiguousRows&);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
