// Ladder: sums of two vectors and of two matrices, the norm, and copies that overlap kernels.
//
// The rungs follow course slides on CUDA: one block, a grid of blocks, matrices, streams. A sum reads 8 n bytes and
// writes 4 n: the copy rate is the limit. Where the host sends the vectors, the limit is the 8 n bytes that the link
// carries to the device. The launches rotate through copies of the input, so that none of them reads the cache.
#include <cmath>

#include "bench/ladders/cuda/ladder.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 26;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 30;
constexpr std::int64_t kMostSent = std::int64_t{1} << 24;  // numbers of the vectors that the host sends
constexpr int kOneBlock = 1024;                            // threads
constexpr unsigned kMatrixRows = kBlock / kWarp;           // rows of a block of threads

struct Vectors {
  const float* a;
  const float* b;
  float* out;
  std::int64_t count;
};

// 1 and 2: a thread adds numbers that are a grid apart.
__global__ void add_kernel(Vectors v) {
  for (std::int64_t i = thread_index(); i < v.count; i += thread_count()) v.out[i] = v.a[i] + v.b[i];
}

// 3: four numbers a load.
__global__ void fours_kernel(Vectors v) {
  const std::int64_t fours = v.count / 4, i = thread_index();
  if (i < fours) {
    const float4 a = reinterpret_cast<const float4*>(v.a)[i], b = reinterpret_cast<const float4*>(v.b)[i];
    reinterpret_cast<float4*>(v.out)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
  const std::int64_t rest = 4 * fours + i;
  if (i < v.count % 4) v.out[rest] = v.a[rest] + v.b[rest];
}

// 4 and 5: a thread per element of a matrix; neighbouring threads are below, or beside each other.
template <bool kBeside>
__global__ void matrix_kernel(Vectors v, std::int64_t rows, std::int64_t columns) {
  const std::int64_t x = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  const std::int64_t y = static_cast<std::int64_t>(blockIdx.y) * kMatrixRows + threadIdx.y;
  const std::int64_t row = kBeside ? y : x, column = kBeside ? x : y;
  if (row < rows && column < columns)
    v.out[row * columns + column] = v.a[row * columns + column] + v.b[row * columns + column];
}

float a_value(std::int64_t i) { return static_cast<float>(i % 1021); }
float b_value(std::int64_t i) { return static_cast<float>(i % 509); }

std::string compare_sums(const float* found, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (found[i] == a_value(i) + b_value(i)) continue;
    return concat("index ", i, ": expected ", a_value(i) + b_value(i), ", found ", found[i]);
  }
  return "";
}

/// One problem: copies of two vectors, and the rungs that add them.
class Addition {
 public:
  Addition(Context& context, std::int64_t count, Ladder& ladder)
      : context_(context),
        ladder_(ladder),
        count_(count),
        pitch_(multiple_of_four(count)),
        copies_(copies_beyond_cache(context, 8 * pitch_)),
        a_(context.pool, pitch_ * copies_),
        b_(context.pool, pitch_ * copies_),
        out_(context.pool, pitch_ * copies_),
        found_(static_cast<std::size_t>(count)) {
    std::vector<float> a(found_.size()), b(found_.size());
    for (std::int64_t i = 0; i < count; ++i) a[i] = a_value(i), b[i] = b_value(i);
    for (std::int64_t copy = 0; copy < copies_; ++copy) {
      context.stream.upload(a_.data() + copy * pitch_, a.data(), count);
      context.stream.upload(b_.data() + copy * pitch_, b.data(), count);
    }
    context.stream.wait();
  }

  void run() {
    const Stream& stream = context_.stream;
    rung("1 one block", std::to_string(count_), count_,
         [&](const Vectors& v) { add_kernel<<<1, kOneBlock, 0, stream>>>(v); });
    rung("2 a grid of blocks", std::to_string(count_), count_,
         [&](const Vectors& v) { add_kernel<<<blocks(count_, kBlock), kBlock, 0, stream>>>(v); });
    rung("3 16-byte loads", std::to_string(count_), count_, [&](const Vectors& v) {
      fours_kernel<<<blocks(multiple_of_four(count_) / 4, kBlock), kBlock, 0, stream>>>(v);
    });
    const auto columns = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count_)));
    const std::int64_t rows = count_ / columns;
    const std::string shape = concat(rows, " x ", columns);
    const dim3 threads(kWarp, kMatrixRows);
    rung("4 matrices, neighbours below", shape, rows * columns, [&](const Vectors& v) {
      const dim3 grid(blocks(rows, kWarp), blocks(columns, kMatrixRows));
      matrix_kernel<false><<<grid, threads, 0, stream>>>(v, rows, columns);
    });
    rung("5 matrices, neighbours beside", shape, rows * columns, [&](const Vectors& v) {
      const dim3 grid(blocks(columns, kWarp), blocks(rows, kMatrixRows));
      matrix_kernel<true><<<grid, threads, 0, stream>>>(v, rows, columns);
    });
  }

 private:
  static unsigned blocks(std::int64_t count, std::int64_t each) {
    return static_cast<unsigned>((count + each - 1) / each);
  }

  template <class Launch>
  void rung(const char* name, const std::string& shape, std::int64_t count, const Launch& launch) {
    context_.stream.fill(out_.data(), 0xFF, out_.size());  // NaN
    ladder_.run(
        {.name = name,
         .shape = shape,
         .work = 12.0 * static_cast<double>(count),
         .unit = WorkUnit::bytes,
         .limit = kCopyLimit},
        [&](std::int64_t turn) {
          const std::int64_t first = turn % copies_ * pitch_;
          launch(Vectors{a_.data() + first, b_.data() + first, out_.data() + first, count_});
        },
        [&] {
          context_.stream.download(found_.data(), out_.data(), count_);
          return compare_sums(found_.data(), count);
        });
  }

  Context& context_;
  Ladder& ladder_;
  std::int64_t count_, pitch_, copies_;
  Buffer<float> a_, b_, out_;
  std::vector<float> found_;
};

/// Vectors in page-locked host memory. A launch sends them in parts, adds them on the device and fetches the sums; each
/// stream works on one part after the other.
class SentAddition {
 public:
  SentAddition(Context& context, std::int64_t count, Ladder& ladder)
      : context_(context),
        ladder_(ladder),
        count_(count),
        host_a_(count),
        host_b_(count),
        host_out_(count),
        a_(context.pool, count),
        b_(context.pool, count),
        out_(context.pool, count) {
    for (std::int64_t i = 0; i < count; ++i) {
      host_a_.data()[i] = a_value(i);
      host_b_.data()[i] = b_value(i);
    }
  }

  void run() {
    rung("1 stream", 1);
    rung("2 streams", 2);
    rung("4 streams", 4);
  }

 private:
  static constexpr int kParts = 16;
  static std::int64_t bytes_of(std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(float)); }

  void rung(const char* text, int count) {
    const std::vector<Stream> streams(static_cast<std::size_t>(count));
    std::fill_n(host_out_.data(), count_, -1.0F);
    ladder_.run(
        {.name = concat(number_++, " sent and fetched on ", text),
         .shape = std::to_string(count_),
         .work = 12.0 * static_cast<double>(count_),
         .unit = WorkUnit::bytes,
         .limit = kUploadLimit,
         .limit_work = 8.0 * static_cast<double>(count_)},
        [&](std::int64_t) { launch(streams); }, [&] { return compare_sums(host_out_.data(), count_); });
    context_.stream.wait();
  }

  void launch(const std::vector<Stream>& streams) const {
    for (const Stream& stream : streams) stream.wait_for(context_.stream);
    for (std::int64_t part = 0; part < kParts; ++part) {
      const Stream& stream = streams[static_cast<std::size_t>(part) % streams.size()];
      const std::int64_t first = part * count_ / kParts, count = (part + 1) * count_ / kParts - first;
      if (count == 0) continue;
      const auto bytes = static_cast<std::size_t>(bytes_of(count));
      check(cudaMemcpyAsync(a_.data() + first, host_a_.data() + first, bytes, cudaMemcpyHostToDevice, stream));
      check(cudaMemcpyAsync(b_.data() + first, host_b_.data() + first, bytes, cudaMemcpyHostToDevice, stream));
      const Vectors v{a_.data() + first, b_.data() + first, out_.data() + first, count};
      add_kernel<<<context_.grid(count, kBlock), kBlock, 0, stream>>>(v);
      check(cudaGetLastError());
      check(cudaMemcpyAsync(host_out_.data() + first, out_.data() + first, bytes, cudaMemcpyDeviceToHost, stream));
    }
    for (const Stream& stream : streams) context_.stream.wait_for(stream);
  }

  Context& context_;
  Ladder& ladder_;
  std::int64_t count_;
  int number_ = 6;
  PageLocked<float> host_a_, host_b_, host_out_;
  Buffer<float> a_, b_, out_;
};

}  // namespace

std::vector<Measurement> climb_vector(const BenchRequest& request) {
  const std::vector<std::int64_t> counts = cpu::vector_lengths(request, kNumbers, kMostNumbers);
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const std::int64_t count : counts) {
    Ladder ladder(context, request, measurements);
    Addition(context, count, ladder).run();
    SentAddition(context, std::min(count, kMostSent), ladder).run();
    climb_norm(context, count, 9, request, measurements);
    climb_contention(context, count, 10, request, measurements);
  }
  return measurements;
}

}  // namespace kith::cuda
