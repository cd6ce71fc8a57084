// Iterations of small problems of byte points.
#include "kernels/cuda/assign/small_kernel.h"

namespace kith::cuda {

#define KITH_INSTANTIATE(T)                                               \
  template bool fits_small_kernel(const HeldRows<T>&, std::int64_t, int); \
  template IterateResult iterate_small(HeldRows<T>&, const IterateRequest&, const DeviceLloyd<T>&, LloydState&);
KITH_INSTANTIATE(std::uint8_t)
KITH_INSTANTIATE(std::int8_t)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
