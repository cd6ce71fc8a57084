// Asynchronous copies into shared memory by the threads themselves, and products of a single warp on the tensor cores
// (compute capability 8.0 and later), one function per PTX instruction.
//
// PTX ISA 8.x, section "cp.async".
#pragma once

#include <cstdint>

namespace kith::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define KITH_AMPERE 1
#endif

#ifdef KITH_AMPERE

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Copies 16 bytes from global to shared memory through the L1 cache (.ca). Past it (.cg), an H200 requests every 16
/// bytes from L2 separately instead of whole lines: fp16_groups.cu then takes 0.20 ms instead of 0.13.
__device__ inline void copy_chunk(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// Ends a group of this thread's copies; it may be empty.
__device__ inline void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's groups are unfinished. Other threads see the copies after a barrier.
template <int kPending>
__device__ inline void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#endif

// Fragments of matrices and their products by a single warp on the tensor cores (compute capability 8.0 and later).
//
// PTX ISA 8.x, "Warp-level matrix instructions: mma.m16n8k16" and "ldmatrix". With i = l / 4 and q = l % 4, thread l of
// the warp holds rows i and i + 8, columns 2 q, 2 q + 1, 2 q + 8 and 2 q + 9 of a (16 x 16); row i, the same columns,
// of b (8 x 16, transposed); and rows i and i + 8, columns 2 q and 2 q + 1, of the product (16 x 8).

/// Loads 16 rows x 16 fp16 from shared memory. Lane l passes the address of row l % 16, columns 8 (l / 16) and the
/// seven after, and gets columns 2 q, 2 q + 1 of rows i and i + 8, then columns 2 q + 8, 2 q + 9: one a, or two b.
__device__ inline void load_rows_16x16(unsigned (&a)[4], std::uint32_t address) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address)
               : "memory");
#endif
}

/// Adds the products of 16 columns of two rows (a) with those of one row (b) to product (4 elements). The order of the
/// columns does not matter as long as a and b have the same.
__device__ inline void multiply_16x8x16(float* product, uint2 upper_row, uint2 lower_row, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(product[0]), "+f"(product[1]), "+f"(product[2]), "+f"(product[3])
      : "r"(upper_row.x), "r"(lower_row.x), "r"(upper_row.y), "r"(lower_row.y), "r"(b.x), "r"(b.y));
#endif
}

/// The same for 32 columns of int8, with exact int32 sums.
__device__ inline void multiply_bytes_16x8x32(int* product, uint2 upper_row, uint2 lower_row, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(product[0]), "+r"(product[1]), "+r"(product[2]), "+r"(product[3])
      : "r"(upper_row.x), "r"(lower_row.x), "r"(upper_row.y), "r"(lower_row.y), "r"(b.x), "r"(b.y));
#endif
}

/// Adds the numbers of bits that 256 bits of two rows (a) and of one row (b) have in common. A thread has 64 of them.
__device__ inline void multiply_bits_16x8x256(int* product, uint2 upper_row, uint2 lower_row, uint2 b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(product[0]), "+r"(product[1]), "+r"(product[2]), "+r"(product[3])
      : "r"(upper_row.x), "r"(lower_row.x), "r"(upper_row.y), "r"(lower_row.y), "r"(b.x), "r"(b.y));
#endif
}

}  // namespace kith::cuda
