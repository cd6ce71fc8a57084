// The instruction set AVX-512, with products in float32.
#include "kernels/cpu/instructions/avx512.h"

namespace kith::cpu {

constinit const Instructions kAvx512 = instructions_of<Avx512>("avx512", "AVX-512, float32 products", has_avx512);

}  // namespace kith::cpu
