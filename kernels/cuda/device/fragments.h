// Products of a single warp on the tensor cores (compute capability 8.0 and later).
//
// PTX ISA 8.x, "Warp-level matrix instructions: mma.m16n8k16". Thread l of the warp, with i = l / 4 and q = l % 4,
// holds of a (16 x 16): rows i and i + 8, columns 2 q, 2 q + 1, 2 q + 8, 2 q + 9; of b (8 x 16, transposed): row i, the
// same columns; of the product (16 x 8): rows i and i + 8, columns 2 q and 2 q + 1.
#pragma once

#include <cstdint>

namespace kith::cuda {

/// 16 halves of two rows (a) or of one (b), 8 bytes each: which columns they are does not matter as long as a and b
/// hold the same.
__device__ inline void multiply_16x8x16(float (&product)[4], uint2 upper_row, uint2 lower_row, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(product[0]), "+f"(product[1]), "+f"(product[2]), "+f"(product[3])
      : "r"(upper_row.x), "r"(lower_row.x), "r"(upper_row.y), "r"(lower_row.y), "r"(b.x), "r"(b.y));
#endif
}

}  // namespace kith::cuda
