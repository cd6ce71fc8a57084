// Ladder: the sum of n numbers, and their norm, from a tree with idle threads to the integer sums of the contract,
// beside CUB and cuBLAS.
//
// Rungs 1 to 7 follow M. Harris: Optimizing parallel reduction in CUDA (2007), on 32-bit integers. Each block writes
// one partial sum, and a second kernel adds the partial sums. Reading 4 n bytes is the limit: 4 us for n = 2^22 at 4.2
// TB/s. The launches rotate through copies of the input, so that none of them reads the cache.

#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <iterator>

#include "bench/ladders/cuda/ladder.h"
#include "bench/ladders/cuda/vendor_library.h"
#include "core/numbers/fixed_point.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers[] = {std::int64_t{1} << 22, std::int64_t{1} << 26};
constexpr std::int64_t kBlockNumbers = 2 * kBlock;  // numbers of a block in rung 4; n is a multiple of it

/// What a launch reads, and where its blocks write their sums.
struct Input {
  const int* numbers;
  const float* values;
  std::int64_t count;
  Word* partial;  // (blocks)
};

__device__ Word widen(int value) { return static_cast<Word>(static_cast<std::int64_t>(value)); }

// 1: interleaved addressing: a modulo selects the threads that add, so that every warp diverges.
__global__ void modulo_kernel(Input in) {
  __shared__ int shared[kBlock];
  const unsigned thread = threadIdx.x;
  shared[thread] = in.numbers[thread_index()];
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    if (thread % (2 * step) == 0) shared[thread] += shared[thread + step];
    __syncthreads();
  }
  if (thread == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

// 2: the first threads add, at strided indices: whole warps are active, but shared memory has bank conflicts.
__global__ void strided_kernel(Input in) {
  __shared__ int shared[kBlock];
  const unsigned thread = threadIdx.x;
  shared[thread] = in.numbers[thread_index()];
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    const unsigned i = 2 * step * thread;
    if (i < kBlock) shared[i] += shared[i + step];
    __syncthreads();
  }
  if (thread == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

/// Adds the upper half of the sums to the lower half until `last` of them remain; neighbouring threads read
/// neighbouring numbers.
__device__ void halve(int* shared, unsigned last) {
  for (unsigned step = kBlock / 2; step >= last; step /= 2) {
    if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
    __syncthreads();
  }
}

// 3: sequential addressing.
__global__ void sequential_kernel(Input in) {
  __shared__ int shared[kBlock];
  shared[threadIdx.x] = in.numbers[thread_index()];
  __syncthreads();
  halve(shared, 1);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

/// The sum of this thread's two numbers.
__device__ int first_pair(const Input& in) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlockNumbers + threadIdx.x;
  return in.numbers[i] + in.numbers[i + kBlock];
}

// 4: each thread adds two numbers while it loads them; in rung 3 half of the threads are idle after loading.
__global__ void loading_kernel(Input in) {
  __shared__ int shared[kBlock];
  shared[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve(shared, 1);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

/// Adds the last 64 sums in one warp, which needs no block-wide barrier.
__device__ void finish_in_warp(int* shared) {
  if (threadIdx.x >= kWarp) return;
#pragma unroll
  for (unsigned step = kWarp; step > 0; step /= 2) {
    const int sum = shared[threadIdx.x] + shared[threadIdx.x + step];
    __syncwarp();
    shared[threadIdx.x] = sum;
    __syncwarp();
  }
}

// 5: the last warp unrolled.
__global__ void last_warp_kernel(Input in) {
  __shared__ int shared[kBlock];
  shared[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve(shared, 2 * kWarp);
  finish_in_warp(shared);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

/// halve() with its loop unrolled.
__device__ void halve_unrolled(int* shared) {
#pragma unroll
  for (unsigned step = kBlock / 2; step >= 2 * kWarp; step /= 2) {
    if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
    __syncthreads();
  }
}

// 6: completely unrolled.
__global__ void unrolled_kernel(Input in) {
  __shared__ int shared[kBlock];
  shared[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve_unrolled(shared);
  finish_in_warp(shared);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

// 7: each thread adds several numbers before the tree begins.
__global__ void several_kernel(Input in) {
  __shared__ int shared[kBlock];
  int sum = 0;
  for (std::int64_t i = thread_index(); i < in.count; i += thread_count()) sum += in.numbers[i];
  shared[threadIdx.x] = sum;
  __syncthreads();
  halve_unrolled(shared);
  finish_in_warp(shared);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widen(shared[0]);
}

// 8: 16-byte loads, and shuffles instead of shared memory.
__global__ void shuffle_kernel(Input in) {
  const auto* fours = reinterpret_cast<const int4*>(in.numbers);
  int sum = 0;
  for (std::int64_t i = thread_index(); i < in.count / 4; i += thread_count()) {
    const int4 four = fours[i];
    sum += four.x + four.y + four.z + four.w;
  }
  const Word total = block_sum(widen(sum));
  if (threadIdx.x == 0) in.partial[blockIdx.x] = total;
}

/// Terms of a sum of floating-point values, rounded to integers on the contract's grid: the order does not affect the
/// result.
struct SumTerm {
  FixedScale scale;
  __device__ Word operator()(float value) const {
    return static_cast<Word>(to_fixed(value, scale.first, scale.second));
  }
};
struct SquareTerm {
  FixedScale scale;
  __device__ Word operator()(float value) const {
    const double wide = value;
    return static_cast<Word>(to_fixed(wide * wide, scale.first, scale.second));
  }
};

// 9 and 10: the same for float32 values, each rounded to the grid before it is added.
template <class Term>
__global__ void grid_kernel(Input in, Term term) {
  const auto* fours = reinterpret_cast<const float4*>(in.values);
  Word sum = 0;
  if (thread_index() < in.count % 4) sum = term(in.values[in.count / 4 * 4 + thread_index()]);
  for (std::int64_t i = thread_index(); i < in.count / 4; i += thread_count()) {
    const float4 four = fours[i];
    sum += term(four.x) + term(four.y) + term(four.z) + term(four.w);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = sum;
}

__global__ void finish_kernel(const Word* partial, unsigned count, Word* result) {
  Word sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += kBlock) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}

/// One problem: copies of its input, the sums of the first copy computed on the host, and the rungs.
class Reduction {
 public:
  Reduction(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& measurements)
      : context_(context),
        count_(count),
        pitch_(multiple_of_four(count)),
        copies_(copies_beyond_cache(context, 4 * pitch_)),
        ladder_(context, request, measurements),
        floats_(cpu::uniform_values(pitch_ * copies_, 2)),
        scale_(fixed_scale(term_bits(count))) {
    std::vector<int> numbers(floats_.size());
    std::transform(floats_.begin(), floats_.end(), numbers.begin(),
                   [](float value) { return static_cast<int>(value * 128.0F); });
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = floats_[i];
      sum_ += numbers[i];
      fixed_sum_ += to_fixed(value, scale_.first, scale_.second);
      fixed_squares_ += to_fixed(value * value, scale_.first, scale_.second);
    }
    numbers_ = to_device(context, numbers);
    values_ = to_device(context, floats_);
    partial_ = Buffer<Word>(context.pool, count / kBlock + 1);
    result_ = Buffer<Word>(context.pool, 1);
  }

  void run() {
    const std::int64_t single = count_ / kBlock,
                       paired = count_ / kBlockNumbers;  // blocks for one or two numbers per thread
    const std::int64_t resident = resident_blocks();
    rung("1 interleaved, by modulo", single, modulo_kernel);
    rung("2 interleaved, strided", single, strided_kernel);
    rung("3 sequential addressing", single, sequential_kernel);
    rung("4 addition while loading", paired, loading_kernel);
    rung("5 last warp unrolled", paired, last_warp_kernel);
    rung("6 completely unrolled", paired, unrolled_kernel);
    rung("7 several numbers per thread", resident, several_kernel);
    rung("8 shuffles, 16-byte loads", resident, shuffle_kernel);
    fixed_rung("9 float32 sum in integers", SumTerm{scale_}, fixed_sum_);
    run_norm(10);
    cub_rung();
    ladder_.compare_with_last("CUB");
  }

  /// The norm of the values, in integers and by cuBLAS.
  void run_norm(int number) {
    fixed_rung(concat(number, " float32 norm in integers"), SquareTerm{scale_}, fixed_squares_);
    vendor_rung();
  }

 private:
  /// Blocks for several numbers per thread.
  std::int64_t resident_blocks() const {
    return std::clamp<std::int64_t>(count_ / kBlockNumbers, 1, std::int64_t{context_.multiprocessors} * 8);
  }
  Measurement line(const std::string& name) const {
    return {.name = name,
            .shape = std::to_string(count_),
            .work = 4.0 * static_cast<double>(count_),
            .unit = WorkUnit::bytes,
            .limit = kReadLimit};
  }
  Input input(std::int64_t turn) const {
    const std::int64_t first = turn % copies_ * pitch_;
    return {numbers_.data() + first, values_.data() + first, count_, partial_.data()};
  }
  void finish(std::int64_t blocks) const {
    finish_kernel<<<1, kBlock, 0, context_.stream>>>(partial_.data(), static_cast<unsigned>(blocks), result_.data());
  }
  std::string compare(std::int64_t expected) const {
    Word result = 0;
    context_.stream.download(&result, result_.data(), 1);
    if (static_cast<std::int64_t>(result) == expected) return "";
    return concat("expected ", expected, ", found ", static_cast<std::int64_t>(result));
  }

  void rung(const char* name, std::int64_t blocks, void (*kernel)(Input)) {
    ladder_.run(
        line(name),
        [&](std::int64_t turn) {
          kernel<<<static_cast<unsigned>(blocks), kBlock, 0, context_.stream>>>(input(turn));
          finish(blocks);
        },
        [&] { return compare(sum_); });
  }
  template <class Term>
  void fixed_rung(const std::string& name, Term term, std::int64_t expected) {
    const std::int64_t blocks = resident_blocks();
    ladder_.run(
        line(name),
        [&](std::int64_t turn) {
          grid_kernel<<<static_cast<unsigned>(blocks), kBlock, 0, context_.stream>>>(input(turn), term);
          finish(blocks);
        },
        [&] { return compare(expected); });
  }
  void cub_rung() {
    std::size_t bytes = 0;
    const auto add = [&](void* temporary, std::int64_t turn) {
      auto* result = reinterpret_cast<std::int64_t*>(result_.data());
      check(cub::DeviceReduce::Sum(temporary, bytes, input(turn).numbers, result, count_, context_.stream));
    };
    add(nullptr, 0);
    const Buffer<std::byte> temporary(context_.pool, static_cast<std::int64_t>(bytes));
    ladder_.run(
        line("CUB"), [&](std::int64_t turn) { add(temporary.data(), turn); }, [&] { return compare(sum_); });
  }
  void vendor_rung() {
    const VendorLibrary library(context_.stream);
    Measurement measurement = line("norm by cuBLAS");
    if (!library.missing().empty() || count_ > (1 << 30)) {
      measurement.missing = library.missing().empty() ? "cuBLAS counts in 32 bits" : library.missing();
      ladder_.skip(std::move(measurement));
      return;
    }
    auto* result = reinterpret_cast<float*>(result_.data());
    const double expected = std::sqrt(from_fixed(fixed_squares_, scale_.shift));
    ladder_.run(
        std::move(measurement),
        [&](std::int64_t turn) { library.norm(static_cast<int>(count_), input(turn).values, result); },
        [&]() -> std::string {
          float norm = 0.0F;
          context_.stream.download(&norm, result, 1);
          if (std::abs(norm - expected) <= 1e-4 * expected) return "";
          return concat("expected ", expected, ", found ", norm);
        });
  }

  Context& context_;
  std::int64_t count_, pitch_, copies_;
  Ladder ladder_;
  std::vector<float> floats_;
  FixedScale scale_;
  std::int64_t sum_ = 0, fixed_sum_ = 0, fixed_squares_ = 0;
  Buffer<int> numbers_;
  Buffer<float> values_;
  Buffer<Word> partial_, result_;
};

}  // namespace

void climb_norm(Context& context, std::int64_t count, int number, const BenchRequest& request,
                std::vector<Measurement>& measurements) {
  Reduction(context, count, request, measurements).run_norm(number);
}

std::vector<Measurement> climb_reduce(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) {
    if (shape.columns != 1 || shape.rows % kBlockNumbers != 0) {
      throw Error(ExitCode::usage, concat("--shape ", shape.rows, "x", shape.columns,
                                          ": expected Nx1 with N a multiple of ", kBlockNumbers));
    }
    counts.push_back(shape.rows);
  }
  if (counts.empty()) counts.assign(std::begin(kNumbers), std::end(kNumbers));
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const std::int64_t count : counts) Reduction(context, count, request, measurements).run();
  return measurements;
}

}  // namespace kith::cuda
