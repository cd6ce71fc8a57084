// Products of a warp on the tensor cores of compute capability 8.0 and later: half-precision operands, float32 sums.
//
// PTX ISA 8.x, section "Matrix Fragments for mma.m16n8k16". With group = lane / 4 and quad = lane % 4 a lane holds
//   of the left operand   rows group (low) and group + 8 (high), halves 2 quad, 2 quad + 1 (first) and those + 8
//   (second) of the right operand  row group, the same halves of the product        rows group and group + 8, columns 2
//   quad and 2 quad + 1: low0, low1, high0, high1
// Which halves of a row go together does not matter as long as both operands agree.
#pragma once

#include <cstdint>

namespace kith::cuda {

/// product (16 x 8, spread over the warp) += left (16 x 16) times right (8 x 16) transposed.
__device__ inline void multiply_16x8x16(float (&product)[4], std::uint32_t low_first, std::uint32_t high_first,
                                        std::uint32_t low_second, std::uint32_t high_second, std::uint32_t right_first,
                                        std::uint32_t right_second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(product[0]), "+f"(product[1]), "+f"(product[2]), "+f"(product[3])
      : "r"(low_first), "r"(high_first), "r"(low_second), "r"(high_second), "r"(right_first), "r"(right_second));
#else
  __trap();  // half rows are made for compute capability 9.0 only
#endif
}

}  // namespace kith::cuda
