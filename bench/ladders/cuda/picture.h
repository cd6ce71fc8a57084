// The picture of the Sobel ladder, and its last rung.
#pragma once

#include "bench/ladders/cuda/ladder.h"

namespace kith::cuda {

/// The picture and where its edges go, both with the same pitch.
struct Picture {
  const std::uint8_t* in;
  std::uint8_t* out;
  int width, height;
  std::int64_t pitch;  // bytes of a row, a multiple of 32; the last pixel fills the rest

  __device__ int value(int x, int y) const {
    return in[static_cast<std::int64_t>(min(max(y, 0), height - 1)) * pitch + min(max(x, 0), width - 1)];
  }
  __device__ const std::uint8_t* row(int y) const {
    return in + static_cast<std::int64_t>(min(max(y, 0), height - 1)) * pitch;
  }
  __device__ std::uint8_t* out_row(int y) const { return out + static_cast<std::int64_t>(y) * pitch; }
};

/// The gradients as products on tensor cores (sobel_tensor.cu), compute capability 8.0 and later.
class TensorSobel {
 public:
  explicit TensorSobel(const Context& context);
  void launch(const Picture& picture, cudaStream_t stream) const;

 private:
  std::int64_t resident_;  // blocks that the device runs at once
};

}  // namespace kith::cuda
