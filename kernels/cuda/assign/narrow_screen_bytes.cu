// The narrow screen of byte points.
#include "kernels/cuda/assign/narrow_kernel.h"

namespace kith::cuda {

#define KITH_INSTANTIATE(T)                                                                                    \
  template void screen_narrow(const HeldRows<T>&, const Float32Screen&, const PointOperand<T>&, std::int32_t*, \
                              const AmbiguousRows&);
KITH_INSTANTIATE(std::uint8_t)
KITH_INSTANTIATE(std::int8_t)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
