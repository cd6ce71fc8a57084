// Fragments of matrices and their products by a single warp on the tensor cores (compute capability 8.0 and later).
//
// PTX ISA 8.x, "Warp-level matrix instructions: mma.m16n8k16" and "ldmatrix". Thread l of the warp, with i = l / 4 and
// q = l % 4, holds of a (16 x 16): rows i and i + 8, columns 2 q, 2 q + 1, 2 q + 8, 2 q + 9; of b (8 x 16, transposed):
// row i, the same columns; of the product (16 x 8): rows i and i + 8, columns 2 q and 2 q + 1.
#pragma once

#include <cstdint>

namespace kith::cuda {

/// 16 rows x 16 fp16 from shared memory: lane l gives the address of 8 fp16 of row l % 16, columns 8 (l / 16) on.
/// Gets the fp16 of rows i, i + 8 of columns 2 q on, then those of columns 2 q + 8 on: one a, or two b.
__device__ inline void load_rows_16x16(unsigned (&a)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address)
               : "memory");
#endif
}

/// product (4 elements) += 16 fp16 of two rows (a) times those of one (b), 8 bytes each: which columns they are does
/// not matter as long as a and b hold the same.
__device__ inline void multiply_16x8x16(float* product, uint2 upper_row, uint2 lower_row, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(product[0]), "+f"(product[1]), "+f"(product[2]), "+f"(product[3])
      : "r"(upper_row.x), "r"(lower_row.x), "r"(upper_row.y), "r"(lower_row.y), "r"(b.x), "r"(b.y));
#endif
}

}  // namespace kith::cuda
