// Instructions of compute capability 9.0a for the fp16 product, one function per PTX instruction: bulk copies
// into shared memory that complete on a barrier, products of a warpgroup on the tensor cores, and the transfer of
// registers between warpgroups.
//
// PTX ISA 8.x, sections "mbarrier", "cp.async.bulk", "Asynchronous Warpgroup Level Matrix Instructions", "setmaxnreg".
#pragma once

#include <cstdint>

#include "kernels/cuda/device/ampere.h"

namespace kith::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KITH_HOPPER 1
#endif

#ifdef KITH_HOPPER

__device__ inline void barrier_init(std::uint32_t barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers visible to the copy engine.
__device__ inline void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives; the phase ends only after `bytes` have also been copied.
__device__ inline void barrier_expect(std::uint32_t barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Waits until the phase of this parity has ended.
__device__ inline void barrier_wait(std::uint32_t barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni over;\n"
      "bra.uni again;\n"
      "over:\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Copies contiguous bytes (a multiple of 16) from global to shared memory; the barrier counts them.
__device__ inline void bulk_copy(std::uint32_t to, const void* from, unsigned bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Orders earlier writes of registers and shared memory before the products that follow.
__device__ inline void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products.
__device__ inline void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kPending groups are unfinished.
template <int kPending>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// The descriptor of an operand in shared memory: rows of 64 fp16 (128 bytes) in the 128-byte swizzle, eight rows per
/// kilobyte.
__device__ inline std::uint64_t operand_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t kEightRows = std::uint64_t{1024 >> 4} << 32;
  constexpr std::uint64_t kIgnored = std::uint64_t{1} << 16;  // leading offset, unused in this layout
  return kSwizzle128 | kEightRows | kIgnored | ((address & 0x3FFFF) >> 4);
}

/// A barrier for the compiler: it cannot move uses of the accumulators across this.
__device__ inline void products_done(float (&product)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(product[i])::"memory");
}

#define KITH_FOUR(i) "+f"(product[i]), "+f"(product[i + 1]), "+f"(product[i + 2]), "+f"(product[i + 3])
#define KITH_PRODUCT                                                                                                   \
  KITH_FOUR(0), KITH_FOUR(4), KITH_FOUR(8), KITH_FOUR(12), KITH_FOUR(16), KITH_FOUR(20), KITH_FOUR(24), KITH_FOUR(28), \
      KITH_FOUR(32), KITH_FOUR(36), KITH_FOUR(40), KITH_FOUR(44), KITH_FOUR(48), KITH_FOUR(52), KITH_FOUR(56),         \
      KITH_FOUR(60)
#define KITH_PRODUCT_NAMES                                                           \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "

/// product (64 x 128, spread over the warpgroup) = a (64 x 16) times b (128 x 16) transposed, + product if `add`.
__device__ inline void multiply_64x128x16(float (&product)[64], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " KITH_PRODUCT_NAMES
      "%64, %65, add, 1, 1, 0, 0;\n"
      "}\n"
      : KITH_PRODUCT
      : "l"(a), "l"(b), "r"(add));
}
/// The same with a in registers: each warp has 16 rows, as load_rows_16x16 loads them.
__device__ inline void multiply_64x128x16(float (&product)[64], const unsigned (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " KITH_PRODUCT_NAMES
      "{%64, %65, %66, %67}, %68, add, 1, 1, 0;\n"
      "}\n"
      : KITH_PRODUCT
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
#undef KITH_FOUR
#undef KITH_PRODUCT
#undef KITH_PRODUCT_NAMES

/// Waits for all threads of this warpgroup. Barrier 0 belongs to the whole block.
__device__ inline void warpgroup_sync(int warpgroup, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(warpgroup + 1), "r"(threads) : "memory");
}

#endif

}  // namespace kith::cuda
