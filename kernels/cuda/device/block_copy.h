// Arguments of a kernel that lie in global memory, copied for the threads of a block.
#pragma once

namespace kith::cuda {

/// A copy in shared memory. All threads of the block call it, once in a kernel for each type.
template <class Arguments>
__device__ const Arguments& copy_for_block(const Arguments& from) {
  static_assert(alignof(Arguments) <= 16);
  __shared__ alignas(16) unsigned char memory[sizeof(Arguments)];
  auto& copy = *reinterpret_cast<Arguments*>(memory);
  if (threadIdx.x == 0) copy = from;
  __syncthreads();
  return copy;
}

}  // namespace kith::cuda
