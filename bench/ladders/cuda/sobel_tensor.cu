// The last rung of the Sobel ladder: both gradients are products of pixels and weights on tensor cores.
//
// The filter is a matrix product with a band matrix. A row of the first operand is a window of 16 pixels, of which
// eight outputs depend; the second operand has their weights. The pixels need no conversion (8 bits, sums in 32 bits),
// and neighbours no exchange between threads: the windows overlap, and the cache serves the second reading. A warp
// computes 128 pixels of a row and walks down its strip, in about 11 instructions a pixel.
#include "bench/ladders/cuda/picture.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kWarpPixels = 128;   // 16 windows, of eight pixels each
constexpr int kLowerWindows = 64;  // pixels from window w to window w + 8
constexpr int kRing = 8;           // rows in registers: three are in use, the others are on their way
constexpr int kWaves = 4;          // blocks per place on the device, so that fast multiprocessors take more
constexpr int kLeastRows = 16;     // of a strip, two more are read
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kResidentBlocks = 4;  // the most that a multiprocessor has threads for
#else
constexpr int kResidentBlocks = 5;
#endif

/// product += 16 x 16 unsigned bytes (row) times 16 x 8 signed bytes (b): PTX ISA, mma.m16n8k16. With i = l / 4 and
/// q = l % 4, lane l holds bytes 4 q to 4 q + 3 of rows i and i + 8, the same bytes of column i of b, and elements 2 q
/// and 2 q + 1 of rows i and i + 8 of the product.
__device__ void multiply_add(int (&product)[4], uint2 row, unsigned b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+r"(product[0]), "+r"(product[1]), "+r"(product[2]), "+r"(product[3])
      : "r"(row.x), "r"(row.y), "r"(b));
#endif
}

/// This lane's weights: of bytes 4 q to 4 q + 3 of the window for its pixel i, which is byte i + 4.
struct Weights {
  unsigned across = 0, across_twice = 0;  // -1 left, 1 right
  unsigned down = 0, up = 0;              // 1, 2, 1, and the same negated

  __device__ Weights() {
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
      const int offset = lane_index() % 4 * 4 + byte - (lane_index() / 4 + 4);
      const int side = offset == 1 ? 1 : offset == -1 ? -1 : 0;
      const int sum = offset == 0 ? 2 : side * side;
      const auto place = [&](int weight) { return (static_cast<unsigned>(weight) & 255U) << 8 * byte; };
      across |= place(side);
      across_twice |= place(2 * side);
      down |= place(sum);
      up |= place(-sum);
    }
    for (unsigned* weight : {&across, &across_twice, &down, &up}) asm volatile("" : "+r"(*weight));  // computed once
  }
};

/// The word at byte x of a row. Before and behind the row, its first and last pixel stand where they are needed.
__device__ unsigned word_at(const std::uint8_t* row, int x, int pitch) {
  const unsigned word = *reinterpret_cast<const unsigned*>(row + min(max(x, 0), pitch - 4));
  return x < 0 ? word << 24 : x >= pitch ? word >> 24 : word;
}

/// floor(sqrt(x^2 + y^2)), not limited. The bits of 2^23 + n are those of an integer plus n, and those of n 2^-149 are
/// n: neither the sum of squares nor the root needs a conversion. The half keeps the root away from integers.
__device__ int root_of(int x, int y) {
  constexpr int kTwoTo23 = 0x4B000000;
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(__int_as_float(y * y + (x * x + kTwoTo23)) - 8388607.5F));
  return __float_as_int(__fmul_rz(root, __int_as_float(1)));
}

/// Two magnitudes, at most 255 each.
__device__ std::uint16_t two_magnitudes(int left, int right) {
  unsigned packed = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(packed) : "r"(right), "r"(left));
#endif
  return static_cast<std::uint16_t>(packed);
}

/// Rows top .. end - 1 of the 128 pixels from `first` on. kAtEdge: some words are outside of the row.
template <bool kAtEdge>
__device__ void strip(const Picture& p, int first, int top, int end) {
  const Weights weights;
  const int pitch = static_cast<int>(p.pitch);
  const int x = first + lane_index() / 4 * 8 + lane_index() % 4 * 4 - 4;  // of this lane's word of its first window
  const int to = first + lane_index() / 4 * 8 + lane_index() % 4 * 2;     // its first pixel
  const int begin = kAtEdge ? 0 : x;                                      // byte of a row at which its pointer stands
  const auto words = [&](const std::uint8_t* from) {
    if constexpr (kAtEdge) return make_uint2(word_at(from, x, pitch), word_at(from, x + kLowerWindows, pitch));
    const auto* word = reinterpret_cast<const unsigned*>(from);
    return make_uint2(word[0], word[kLowerWindows / 4]);
  };
  uint2 ring[kRing];
#pragma unroll
  for (int i = 0; i < kRing; ++i) ring[i] = words(p.row(min(top - 1 + i, end)) + begin);
  int next = top - 1 + kRing;  // the row to read, and its memory
  const std::uint8_t* from = p.row(next) + begin;
  std::uint8_t* out = p.out_row(top) + to;
  for (int y = top;;) {
#pragma unroll
    for (int i = 0; i < kRing; ++i) {
      const uint2 above = ring[i], here = ring[(i + 1) % kRing], below = ring[(i + 2) % kRing];
      int across[4] = {}, down[4] = {};
      multiply_add(across, above, weights.across);
      multiply_add(down, above, weights.up);
      multiply_add(across, here, weights.across_twice);
      multiply_add(down, below, weights.down);
      multiply_add(across, below, weights.across);
      if (next <= end) ring[i] = words(from);  // in place of the row above
      if (++next < p.height) from += p.pitch;
      int root[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) root[k] = root_of(across[k], down[k]);
      if (!kAtEdge || to < pitch) *reinterpret_cast<std::uint16_t*>(out) = two_magnitudes(root[0], root[1]);
      if (!kAtEdge || to + kLowerWindows < pitch) {
        *reinterpret_cast<std::uint16_t*>(out + kLowerWindows) = two_magnitudes(root[2], root[3]);
      }
      out += p.pitch;
      if (++y >= end) return;
    }
  }
}

__global__ void __launch_bounds__(kBlock, kResidentBlocks) tensor_sobel_kernel(Picture p, int rows) {
  const int first = static_cast<int>(blockIdx.x * kBlockWarps + threadIdx.x / kWarp) * kWarpPixels;
  const int top = static_cast<int>(blockIdx.y) * rows, end = min(top + rows, p.height);
  if (first >= p.pitch) return;  // the whole warp
  if (first > 0 && first + kWarpPixels + 4 <= p.pitch) {
    strip<false>(p, first, top, end);
  } else {
    strip<true>(p, first, top, end);
  }
}

std::int64_t blocks(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }

}  // namespace

TensorSobel::TensorSobel(const Context& context) {
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, tensor_sobel_kernel, kBlock, 0));
  resident_ = std::int64_t{std::max(each, 1)} * context.multiprocessors;
}

void TensorSobel::launch(const Picture& picture, cudaStream_t stream) const {
  const std::int64_t across = blocks(picture.pitch, kWarpPixels * kBlockWarps);
  const std::int64_t strips = std::max<std::int64_t>(kWaves * resident_ / across, 1);
  const std::int64_t rows = std::max<std::int64_t>(blocks(picture.height, strips), kLeastRows);
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(blocks(picture.height, rows)));
  tensor_sobel_kernel<<<grid, kBlock, 0, stream>>>(picture, static_cast<int>(rows));
}

}  // namespace kith::cuda
