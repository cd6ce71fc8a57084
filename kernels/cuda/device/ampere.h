// What compute capability 8.0 and all later ones have, one function per PTX instruction: asynchronous copies into
// shared memory, loads of matrix fragments, and products of a warp on the tensor cores.
//
// PTX ISA 8.x, sections "cp.async", "ldmatrix", "Warp Level Matrix Multiply-Accumulate Instructions".
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

/// Copies 16 bytes from global to shared memory, past the nearest cache.
__device__ inline void copy_unit(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// Ends a group of this thread's copies; it may be empty.
__device__ inline void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's groups are unfinished. Others see the copies after a barrier.
template <int kPending>
__device__ inline void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four matrices of 8 x 8 halves; lane l gives the address of row l % 8 of matrix l / 8 (16 bytes). Of each matrix a
/// thread gets row lane / 4, halves 2 (lane % 4) and the next.
__device__ inline void load_matrices(std::uint32_t (&fragment)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(address)
               : "memory");
}

/// sum (16 x 8, four elements per thread) += a (16 x 16) times b (8 x 16) transposed. A thread's elements are those of
/// rows lane / 4 (two), then lane / 4 + 8, in columns 2 (lane % 4) and the next: as warpgroups have them.
__device__ inline void multiply_16x8x16(float* sum, const std::uint32_t (&a)[4], std::uint32_t b_low,
                                        std::uint32_t b_high) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

#endif

}  // namespace kith::cuda
