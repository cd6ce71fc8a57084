// Products of 16 x 16 and 16 x 8 halves by a warp, and the loads that fill their operands; one function per PTX
// instruction. For compute capability 8.0 and later: code for earlier cards traps.
//
// PTX ISA 8.x, sections "ldmatrix" and "mma.sync.aligned.m16n8k16".
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace kith::cuda {

/// Four 8 x 8 matrices of halves; lane l gives the address of a row of matrix l / 8 in shared memory.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const __half* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// sum (16 x 8) += a (16 x 16) times b (8 x 16) transposed, accumulated in float32. Lane l holds rows l / 4 (sum[0],
/// [1]) and l / 4 + 8 (sum[2], [3]), columns l % 4 * 2 and the next.
__device__ inline void multiply_16x8x16(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                        std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();
#endif
}

}  // namespace kith::cuda
