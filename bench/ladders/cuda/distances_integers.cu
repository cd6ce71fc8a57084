// The rungs of the ladder of distances for integers: in int32, and by one int8 product on tensor cores, which the
// values allow. All results are exact.
#include "bench/ladders/cuda/tensor_tile.h"
#include "bench/ladders/cuda/tiles.h"

namespace kith::cuda {
namespace {

constexpr int kSmallest = -64, kValues = 128;  // in int8; a distance over 65536 columns is below 2^31

/// int8 products, added in int32.
struct Int8Products {
  using Sum = int;
  using Pair = int2;
  __device__ static void multiply(Sum* sum, uint2 upper_row, uint2 lower_row, uint2 b) {
    multiply_bytes_16x8x32(sum, upper_row, lower_row, b);
  }
  __device__ static Sum finish(Sum a_square, Sum b_square, Sum product) { return a_square + b_square - 2 * product; }
};

/// bytes = values as int8; values and bytes: (count)
__global__ void narrow_kernel(const int* values, std::int64_t count, std::int8_t* bytes) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) bytes[i] = static_cast<std::int8_t>(values[i]);
}

/// One warp per vector (count, depth).
__global__ void square_kernel(const std::int8_t* vectors, int count, int depth, int* square) {
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    Word sum = 0;
    for (int j = lane_index(); j < depth; j += kWarp) {
      const int value = vectors[i * depth + j];
      sum += static_cast<Word>(value * value);
    }
    sum = warp_sum(sum);
    if (lane_index() == 0) square[i] = static_cast<int>(sum);
  }
}

__global__ void compare_kernel(const int* values, const int* expected, std::int64_t count, Word* differing) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    if (values[i] != expected[i]) atomicAdd(differing, Word{1});
  }
}

std::vector<int> whole_values(std::int64_t count, std::uint64_t seed) {
  std::vector<int> values(static_cast<std::size_t>(count));
  const std::vector<float> random = cpu::uniform_values(count, seed);
  std::transform(random.begin(), random.end(), values.begin(),
                 [](float value) { return kSmallest + static_cast<int>((value + 1.0F) * (kValues / 2)); });
  return values;
}

class IntegerLadder {
 public:
  IntegerLadder(Context& context, const BenchShape& shape, const BenchRequest& request,
                std::vector<Measurement>& measurements)
      : context_(context),
        ladder_(context, request, measurements),
        host_a_(whole_values(shape.rows * shape.columns, 6)),
        host_b_(whole_values(shape.columns * shape.counts[0], 7)),
        a_(to_device(context, host_a_)),
        b_(to_device(context, host_b_)),
        out_(context.pool, shape.rows * shape.counts[0]),
        expected_(context.pool, out_.size()),
        a_bytes_(context.pool, a_.size()),
        b_bytes_(context.pool, b_.size()),
        a_square_(context.pool, shape.rows),
        b_square_(context.pool, shape.counts[0]),
        differing_(context.pool, 1),
        problem_{static_cast<int>(shape.rows),
                 static_cast<int>(shape.columns),
                 static_cast<int>(shape.counts[0]),
                 a_.data(),
                 b_.data(),
                 out_.data()} {}

  void run() {
    const Stream& stream = context_.stream;
    const dim3 threads(kSide, kSide), grid(problem_.columns / kSide, problem_.rows / kSide);
    rung("8 int32, one thread per element", kFloatLimit,
         [&] { element_kernel<<<grid, threads, 0, stream>>>(problem_); });
    rung("9 int32, tiles without bank conflicts", kFloatLimit,
         [&] { tile_kernel<false><<<grid, threads, 0, stream>>>(problem_); });
    const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
    rung("10 int32, 8 x 8 in registers", kFloatLimit,
         [&] { register_kernel<<<tiles, kBlock, 0, stream>>>(problem_, Differences<int>{}); });
    const char* product = "11 tensor cores, one int8 product";
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context_.device));
    if (major < 8) {
      ladder_.skip({.name = product, .missing = "needs compute capability 8.0"});
      return;
    }
    rung(product, kInt8Limit, [&] { by_int8_product(); });
  }

 private:
  /// Narrows both operands, transposes B and sums the squares: they are part of the rung's work.
  void by_int8_product() const {
    const Stream& stream = context_.stream;
    narrow_kernel<<<context_.grid(a_.size(), kBlock), kBlock, 0, stream>>>(a_.data(), a_.size(), a_bytes_.data());
    launch_transpose(context_, b_.data(), problem_.depth, problem_.columns, b_bytes_.data());
    square_kernel<<<context_.grid(problem_.rows, kBlockWarps), kBlock, 0, stream>>>(a_bytes_.data(), problem_.rows,
                                                                                    problem_.depth, a_square_.data());
    square_kernel<<<context_.grid(problem_.columns, kBlockWarps), kBlock, 0, stream>>>(
        b_bytes_.data(), problem_.columns, problem_.depth, b_square_.data());
    const auto words = [](const Buffer<std::int8_t>& bytes) {
      return reinterpret_cast<const std::uint16_t*>(bytes.data());
    };
    launch_tensor_tiles<Int8Products, 1>(context_, problem_.rows,
                                         {{words(a_bytes_), nullptr},
                                          {words(b_bytes_), nullptr},
                                          a_square_.data(),
                                          b_square_.data(),
                                          problem_.depth / 2,
                                          problem_.columns,
                                          problem_.out});
  }

  template <class Launch>
  void rung(const char* name, const char* limit, const Launch& launch) {
    context_.stream.fill(out_.data(), 0xFF, out_.size());  // -1
    ladder_.run(
        {.name = name,
         .shape = problem_.shape(),
         .work = problem_.operations(),
         .unit = WorkUnit::operations,
         .limit = limit},
        [&](std::int64_t) { launch(); }, [&] { return has_expected_ ? compare_all() : compare_sample(); });
  }

  /// Compares a sample with the definition, and keeps the elements for the other rungs.
  std::string compare_sample() {
    constexpr int kSample = 64;
    const Stream& stream = context_.stream;
    for (int i = 0; i < kSample; ++i) {
      const std::int64_t row = std::int64_t{i} * problem_.rows / kSample;
      const std::int64_t column = std::int64_t{kSample - 1 - i} * problem_.columns / kSample;
      std::int64_t expected = 0;
      for (std::int64_t j = 0; j < problem_.depth; ++j) {
        const std::int64_t difference = host_a_[row * problem_.depth + j] - host_b_[j * problem_.columns + column];
        expected += difference * difference;
      }
      int found = 0;
      stream.download(&found, out_.data() + row * problem_.columns + column, 1);
      if (found != expected)
        return concat("row ", row, ", column ", column, ": expected ", expected, ", found ", found);
    }
    const auto bytes = static_cast<std::size_t>(out_.size()) * sizeof(int);
    check(cudaMemcpyAsync(expected_.data(), out_.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    has_expected_ = true;
    return "";
  }

  std::string compare_all() const {
    const Stream& stream = context_.stream;
    Word differing = 0;
    stream.fill(differing_.data(), 0, 1);
    compare_kernel<<<context_.grid(out_.size(), kBlock), kBlock, 0, stream>>>(out_.data(), expected_.data(),
                                                                              out_.size(), differing_.data());
    check(cudaGetLastError());
    stream.download(&differing, differing_.data(), 1);
    return differing == 0 ? "" : concat(differing, " elements differ from those of rung 8");
  }

  Context& context_;
  Ladder ladder_;
  std::vector<int> host_a_, host_b_;
  Buffer<int> a_, b_, out_, expected_;
  Buffer<std::int8_t> a_bytes_, b_bytes_;
  Buffer<int> a_square_, b_square_;
  Buffer<Word> differing_;
  DistanceProblemOf<int> problem_;
  bool has_expected_ = false;
};

}  // namespace

void climb_integer_distances(Context& context, const BenchShape& shape, const BenchRequest& request,
                             std::vector<Measurement>& measurements) {
  IntegerLadder(context, shape, request, measurements).run();
}

}  // namespace kith::cuda
