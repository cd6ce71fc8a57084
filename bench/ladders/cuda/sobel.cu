// Ladder: the Sobel magnitude of an 8-bit picture, from twelve reads a pixel to sixteen pixels a thread.
//
// The rungs follow V. Podlozhnyuk: Image convolution with CUDA (2007) and course notes on the same filter. One read and
// one write of the picture is the limit, that is the copy rate: 32 us for 8192 x 8192 at 4.2 TB/s, in which a
// multiprocessor issues about 15 instructions per pixel. Rung 7 therefore keeps two gradients in a register, which
// takes about 16, and rung 8 computes them on tensor cores (sobel_tensor.cu).
//
// Rows are padded to whole segments by their last pixel, so that the right edge needs no case of its own.
#include <cuda_fp16.h>

#include <memory>

#include "bench/ladders/cuda/picture.h"
#include "kernels/cpu/picture/edges.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kSegment = 32;        // bytes to which rows are padded; texture rows begin at multiples of it
constexpr int kTextureBytes = 512;  // alignment of a texture's memory
constexpr int kBlockRows = kBlock / kWarp;
constexpr int kWindowRows = 18;  // rows that a thread of rungs 5 to 7 computes
constexpr std::int64_t kMaxCopies = 64;

/// floor(sqrt(x^2 + y^2)), at most 255. The half keeps the root away from integers, so its rounding does not matter.
__device__ std::uint8_t magnitude(int x, int y) {
  return static_cast<std::uint8_t>(min(255, static_cast<int>(sqrtf(static_cast<float>(x * x + y * y) + 0.5F))));
}

// 1: a thread per pixel reads six values for each gradient, a block covers 32 x 8 pixels.
__global__ void twelve_reads_kernel(Picture p) {
  const int x = static_cast<int>(blockIdx.x * kWarp + threadIdx.x),
            y = static_cast<int>(blockIdx.y * kBlockRows + threadIdx.y);
  if (x >= p.width || y >= p.height) return;
  const volatile std::uint8_t* in = p.in;  // keeps all twelve
  const auto read = [&](int u, int v) {
    const int column = min(max(x + u, 0), p.width - 1), row = min(max(y + v, 0), p.height - 1);
    return static_cast<int>(in[row * p.pitch + column]);
  };
  const int across = read(1, -1) - read(-1, -1) + 2 * (read(1, 0) - read(-1, 0)) + read(1, 1) - read(-1, 1);
  const int down = read(-1, 1) - read(-1, -1) + 2 * (read(0, 1) - read(0, -1)) + read(1, 1) - read(1, -1);
  p.out_row(y)[x] = magnitude(across, down);
}

/// The magnitude from eight values, read once each; read(u, v) is the neighbour at that offset.
template <class Read>
__device__ std::uint8_t from_eight(const Read& read) {
  const int a = read(-1, -1), b = read(0, -1), c = read(1, -1), d = read(-1, 0), e = read(1, 0), f = read(-1, 1),
            g = read(0, 1), h = read(1, 1);
  return magnitude(c - a + 2 * (e - d) + h - f, f - a + 2 * (g - b) + h - c);
}

// 2: eight reads.
__global__ void eight_reads_kernel(Picture p) {
  const int x = static_cast<int>(blockIdx.x * kWarp + threadIdx.x),
            y = static_cast<int>(blockIdx.y * kBlockRows + threadIdx.y);
  if (x >= p.width || y >= p.height) return;
  p.out_row(y)[x] = from_eight([&](int u, int v) { return p.value(x + u, y + v); });
}

// 3: the texture unit clamps the coordinates and caches in two dimensions.
__global__ void texture_kernel(Picture p, cudaTextureObject_t texture) {
  const int x = static_cast<int>(blockIdx.x * kWarp + threadIdx.x),
            y = static_cast<int>(blockIdx.y * kBlockRows + threadIdx.y);
  if (x >= p.width || y >= p.height) return;
  p.out_row(y)[x] = from_eight([&](int u, int v) {
    return static_cast<int>(
        tex2D<unsigned char>(texture, static_cast<float>(x + u) + 0.5F, static_cast<float>(y + v) + 0.5F));
  });
}

// 4: each block copies its tile and a border of one pixel (the apron) to shared memory.
__global__ void tile_kernel(Picture p) {
  constexpr int kColumns = kWarp + 2, kRows = kBlockRows + 2;
  __shared__ std::uint8_t tile[kRows][kColumns];
  const int left = static_cast<int>(blockIdx.x) * kWarp, top = static_cast<int>(blockIdx.y) * kBlockRows;
  for (int i = static_cast<int>(threadIdx.y * kWarp + threadIdx.x); i < kRows * kColumns; i += kBlock) {
    tile[i / kColumns][i % kColumns] =
        static_cast<std::uint8_t>(p.value(left + i % kColumns - 1, top + i / kColumns - 1));
  }
  __syncthreads();
  const int u0 = static_cast<int>(threadIdx.x) + 1, v0 = static_cast<int>(threadIdx.y) + 1;
  const int x = left + u0 - 1, y = top + v0 - 1;
  if (x >= p.width || y >= p.height) return;
  p.out_row(y)[x] = from_eight([&](int u, int v) { return static_cast<int>(tile[v0 + v][u0 + u]); });
}

/// The two one-dimensional filters of a row at one pixel; three rows of them make both gradients.
struct RowFilters {
  int difference, sum;  // right - left; left + 2 here + right
};

// 5: a thread walks down a column and reads three new values per pixel; the filters of two rows stay in registers.
__global__ void window_kernel(Picture p) {
  const int x = static_cast<int>(blockIdx.x * kBlock + threadIdx.x), top = static_cast<int>(blockIdx.y) * kWindowRows;
  if (x >= p.width) return;
  const int left = max(x - 1, 0), right = min(x + 1, p.width - 1);
  const auto filters = [&](int y) {
    const std::uint8_t* row = p.row(y);
    const int l = row[left], r = row[right];
    return RowFilters{r - l, l + 2 * row[x] + r};
  };
  RowFilters above = filters(top - 1), here = filters(top);
  const int end = min(top + kWindowRows, p.height);
  for (int y = top; y < end; ++y) {
    const RowFilters below = filters(y + 1);
    p.out_row(y)[x] = magnitude(above.difference + 2 * here.difference + below.difference, below.sum - above.sum);
    above = here;
    here = below;
  }
}

/// `kWords` words of four pixels of one row, with the neighbours on both sides.
template <int kWords>
struct Words {
  unsigned word[kWords];
  unsigned before, after;  // words whose last and first byte are the neighbours

  __device__ unsigned left(int i) const { return __funnelshift_l(i > 0 ? word[i - 1] : before, word[i], 8); }
  __device__ unsigned right(int i) const { return __funnelshift_r(word[i], i + 1 < kWords ? word[i + 1] : after, 8); }
};

/// Reads the words of this lane in a row; neighbours come from the lanes beside. x: byte of the first pixel, a multiple
/// of 4 kWords. All lanes of a warp call it, those beyond the row with any x.
template <int kWords>
__device__ Words<kWords> read_words(const Picture& p, int x, int y) {
  const std::uint8_t* row = p.row(y);
  Words<kWords> words{};
  const bool inside = x < p.pitch;
  if (inside) {
    if constexpr (kWords == 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(row + x);
      words.word[0] = four.x, words.word[1] = four.y, words.word[2] = four.z, words.word[3] = four.w;
    } else {
      words.word[0] = *reinterpret_cast<const unsigned*>(row + x);
    }
  }
  words.before = __shfl_up_sync(~0U, words.word[kWords - 1], 1);
  words.after = __shfl_down_sync(~0U, words.word[0], 1);
  if (inside && lane_index() == 0) words.before = static_cast<unsigned>(row[max(x - 1, 0)]) << 24;
  if (inside && (lane_index() == kWarp - 1 || x + 4 * kWords >= p.pitch)) {
    words.after = row[min(std::int64_t{x} + 4 * kWords, p.pitch - 1)];
  }
  return words;
}

// 6: four pixels a word.
__global__ void word_kernel(Picture p) {
  const int x = 4 * static_cast<int>(blockIdx.x * kBlock + threadIdx.x),
            top = static_cast<int>(blockIdx.y) * kWindowRows;
  struct Filters {
    RowFilters pixel[4];
  };
  const auto filters = [&](int y) {
    const Words<1> words = read_words<1>(p, x, y);
    const unsigned left = words.left(0), right = words.right(0);
    Filters result;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int l = static_cast<int>(left >> 8 * i & 255), r = static_cast<int>(right >> 8 * i & 255);
      result.pixel[i] = {r - l, l + 2 * static_cast<int>(words.word[0] >> 8 * i & 255) + r};
    }
    return result;
  };
  Filters above = filters(top - 1), here = filters(top);
  const int end = min(top + kWindowRows, p.height);
  for (int y = top; y < end; ++y) {
    const Filters below = filters(y + 1);
    unsigned edges = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const RowFilters &a = above.pixel[i], &h = here.pixel[i], &b = below.pixel[i];
      edges |= static_cast<unsigned>(magnitude(a.difference + 2 * h.difference + b.difference, b.sum - a.sum)) << 8 * i;
    }
    if (x < p.pitch) *reinterpret_cast<unsigned*>(p.out_row(y) + x) = edges;
    above = here;
    here = below;
  }
}

/// Two bytes of a word as fp16 values times 2^-24: the bits of a byte are those of a number below its normal range.
__device__ __half2 byte_pair(unsigned word, bool upper) {
  const unsigned bits = __byte_perm(word, 0, upper ? 0x4342U : 0x4140U);
  return *reinterpret_cast<const __half2*>(&bits);
}

/// The filters of sixteen pixels of a row, times 2^-24. All sums are integers of magnitude 1020 at most times 2^-24,
/// which fp16 holds exactly.
struct PackedFilters {
  __half2 difference[8], sum[8];
};

__device__ PackedFilters packed_filters(const Words<4>& words) {
  PackedFilters result;
  const __half2 two = __float2half2_rn(2.0F);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const __half2 l = byte_pair(words.left(i / 2), i % 2 == 1), m = byte_pair(words.word[i / 2], i % 2 == 1),
                  r = byte_pair(words.right(i / 2), i % 2 == 1);
    result.difference[i] = __hsub2(r, l);
    result.sum[i] = __hadd2(__hfma2(m, two, l), r);
  }
  return result;
}

/// floor(sqrt(x^2 + y^2)) of two pixels, in the low and high half of the result; not limited. Arguments are times
/// 2^-24.
__device__ unsigned two_roots(__half2 across, __half2 down) {
  const float2 x = __half22float2(across), y = __half22float2(down);
  const auto root = [](float x, float y) {
    float result;  // 2^-24 sqrt(x^2 + y^2 + 1/2): the half keeps it farther from an integer than its rounding error
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(__fmaf_rn(x, x, __fmaf_rn(y, y, 0x1p-49F))));
    return __float_as_uint(__fadd_rz(result, 0.5F));  // its last bit is 2^-24
  };
  return __byte_perm(root(x.x, y.x), root(x.y, y.y), 0x5410U);
}

// 7: sixteen pixels a thread, two of them in every operation up to the squares.
__global__ void __launch_bounds__(kBlock, 3) packed_kernel(Picture p) {
  const int x = 16 * static_cast<int>(blockIdx.x * kWarp + threadIdx.x);
  const int top = static_cast<int>(blockIdx.y * kBlockRows + threadIdx.y) * kWindowRows;
  if (top >= p.height) return;  // the whole warp
  const int end = min(top + kWindowRows, p.height);
  PackedFilters above = packed_filters(read_words<4>(p, x, top - 1)), here = packed_filters(read_words<4>(p, x, top));
  Words<4> next = read_words<4>(p, x, top + 1);
  const __half2 two = __float2half2_rn(2.0F);
#pragma unroll 3  // the rows change their places without moves
  for (int y = top; y < end; ++y) {
    const PackedFilters below = packed_filters(next);
    next = read_words<4>(p, x, y + 2);  // arrives while this row is computed
    unsigned word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unsigned pair[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int k = 2 * i + j;
        const __half2 across = __hadd2(__hfma2(here.difference[k], two, above.difference[k]), below.difference[k]);
        pair[j] = __vminu2(two_roots(across, __hsub2(below.sum[k], above.sum[k])), 0x00FF00FFU);
      }
      word[i] = __byte_perm(pair[0], pair[1], 0x6420U);
    }
    if (x < p.pitch) *reinterpret_cast<uint4*>(p.out_row(y) + x) = make_uint4(word[0], word[1], word[2], word[3]);
    above = here;
    here = below;
  }
}

/// A texture over a picture in memory; coordinates outside take the nearest pixel.
class Texture {
 public:
  explicit Texture(const Picture& p) {
    cudaResourceDesc memory{};
    memory.resType = cudaResourceTypePitch2D;
    memory.res.pitch2D.devPtr = const_cast<std::uint8_t*>(p.in);
    memory.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    memory.res.pitch2D.width = static_cast<std::size_t>(p.width);
    memory.res.pitch2D.height = static_cast<std::size_t>(p.height);
    memory.res.pitch2D.pitchInBytes = static_cast<std::size_t>(p.pitch);
    cudaTextureDesc reading{};
    reading.addressMode[0] = reading.addressMode[1] = cudaAddressModeClamp;
    check(cudaCreateTextureObject(&texture_, &memory, &reading, nullptr));
  }
  ~Texture() { report_in_destructor(cudaDestroyTextureObject(texture_)); }
  Texture(const Texture&) = delete;
  operator cudaTextureObject_t() const { return texture_; }  // NOLINT: kernels take the raw object

 private:
  cudaTextureObject_t texture_ = 0;
};

/// One picture: copies of it on the device, its edges computed on the host, and the rungs.
class Edges {
 public:
  Edges(Context& context, const BenchShape& shape, const BenchRequest& request, std::vector<Measurement>& measurements)
      : context_(context),
        width_(static_cast<int>(shape.rows)),
        height_(static_cast<int>(shape.columns)),
        pitch_(round_up(shape.rows, kSegment)),
        bytes_(round_up(pitch_ * height_, kTextureBytes)),
        copies_(std::min(copies_beyond_cache(context, bytes_), kMaxCopies)),
        ladder_(context, request, measurements),
        expected_(static_cast<std::size_t>(shape.rows * shape.columns)) {
    const std::vector<std::uint8_t> pixels = cpu::bench_picture({width_, height_});
    Threads threads(request.backend.threads);
    cpu::sobel(pixels, {width_, height_}, expected_, threads);
    std::vector<std::uint8_t> padded(static_cast<std::size_t>(bytes_));
    for (std::int64_t y = 0; y < height_; ++y) {
      const auto row = pixels.begin() + y * width_;
      auto to = std::copy(row, row + width_, padded.begin() + y * pitch_);
      std::fill(to, padded.begin() + (y + 1) * pitch_, row[width_ - 1]);
    }
    in_ = Buffer<std::uint8_t>(context.pool, bytes_ * copies_);
    out_ = Buffer<std::uint8_t>(context.pool, bytes_ * copies_);
    for (std::int64_t i = 0; i < copies_; ++i) context.stream.upload(in_.data() + i * bytes_, padded.data(), bytes_);
    context.stream.wait();
  }

  void run() {
    const dim3 pixels(blocks(width_, kWarp), blocks(height_, kBlockRows)), threads(kWarp, kBlockRows);
    const unsigned strips = blocks(height_, kWindowRows);
    rung("1 global memory, twelve reads", twelve_reads_kernel, pixels, threads);
    rung("2 eight reads", eight_reads_kernel, pixels, threads);
    texture_rung(pixels, threads);
    rung("4 shared tile with apron", tile_kernel, pixels, threads);
    rung("5 sliding window", window_kernel, dim3(blocks(width_, kBlock), strips), kBlock);
    rung("6 four pixels a word", word_kernel, dim3(blocks(pitch_, 4 * kBlock), strips), kBlock);
    rung("7 sixteen pixels, pairs in fp16", packed_kernel, dim3(blocks(pitch_, 16 * kWarp), blocks(strips, kBlockRows)),
         threads);
    tensor_rung("8 gradients on tensor cores");
  }

 private:
  static std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
  static unsigned blocks(std::int64_t count, std::int64_t each) {
    return static_cast<unsigned>((count + each - 1) / each);
  }
  Measurement line(const char* name) const {
    return {.name = name,
            .shape = concat(width_, " x ", height_),
            .work = 2.0 * width_ * height_,
            .unit = WorkUnit::bytes,
            .limit = kCopyLimit};
  }
  Picture picture(std::int64_t turn) const {
    const std::int64_t first = turn % copies_ * bytes_;
    return {in_.data() + first, out_.data() + first, width_, height_, pitch_};
  }
  std::string compare() {
    std::vector<std::uint8_t> found(static_cast<std::size_t>(bytes_));
    context_.stream.download(found.data(), out_.data(), bytes_);
    context_.stream.fill(out_.data(), 0xEE, bytes_);  // so that no rung passes with the edges of the one before
    context_.stream.wait();
    for (std::int64_t y = 0; y < height_; ++y) {
      for (std::int64_t x = 0; x < width_; ++x) {
        const int expected = expected_[y * width_ + x], value = found[y * pitch_ + x];
        if (value != expected) return concat("pixel ", x, ", ", y, ": expected ", expected, ", found ", value);
      }
    }
    return "";
  }

  void rung(const char* name, void (*kernel)(Picture), dim3 grid, dim3 threads) {
    ladder_.run(
        line(name), [&](std::int64_t turn) { kernel<<<grid, threads, 0, context_.stream>>>(picture(turn)); },
        [&] { return compare(); });
  }
  void tensor_rung(const char* name) {
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context_.device));
    if (major < 8) {
      ladder_.skip({.name = name, .missing = "needs compute capability 8.0"});
      return;
    }
    const TensorSobel sobel(context_);
    ladder_.run(
        line(name), [&](std::int64_t turn) { sobel.launch(picture(turn), context_.stream); },
        [&] { return compare(); });
  }
  void texture_rung(dim3 grid, dim3 threads) {
    std::vector<std::unique_ptr<Texture>> textures;
    for (std::int64_t i = 0; i < copies_; ++i) textures.push_back(std::make_unique<Texture>(picture(i)));
    ladder_.run(
        line("3 texture"),
        [&](std::int64_t turn) {
          texture_kernel<<<grid, threads, 0, context_.stream>>>(picture(turn), *textures[turn % copies_]);
        },
        [&] { return compare(); });
    context_.stream.wait();
  }

  Context& context_;
  int width_, height_;
  std::int64_t pitch_, bytes_, copies_;
  Ladder ladder_;
  std::vector<std::uint8_t> expected_;
  Buffer<std::uint8_t> in_, out_;
};

}  // namespace

std::vector<Measurement> climb_sobel(const BenchRequest& request) {
  const std::vector<BenchShape> shapes = cpu::sobel_shapes(request);
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const BenchShape& shape : shapes) Edges(context, shape, request, measurements).run();
  return measurements;
}

}  // namespace kith::cuda
