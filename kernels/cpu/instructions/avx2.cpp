// The instruction set AVX2 with FMA.
#include "kernels/cpu/instructions/avx2_pairs.h"

namespace kith::cpu {
namespace {

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const Instructions kAvx2 =
    instructions_of<Avx2>("avx2", "AVX2 and FMA, 16-bit integer products", supported, Avx2Pairs::screen());

}  // namespace kith::cpu
