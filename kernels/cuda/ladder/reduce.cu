// Ladder: the sum of n numbers, and their norm, from a tree with idle threads to the integer sums of the contract.
//
// Rungs 1 to 7 after M. Harris: Optimizing parallel reduction in CUDA (2007), on 32-bit integers. Each block leaves one
// partial sum, and a second kernel adds those. 4 n bytes are read; that is the floor (4 us for 2^22 at 4.2 TB/s).
// Inputs take turns, so that none is found in the cache.

#include <cmath>

#include "core/fixed_point.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/ladder.h"
#include "kernels/cuda/ladder/vendor_library.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 22;
constexpr std::int64_t kPart = 2 * kBlock;  // numbers of a block in rung 4; n is a multiple of it

/// What a launch reads and where its blocks leave their sums.
struct Input {
  const int* numbers;
  const float* values;
  std::int64_t count;
  Word* partial;  // (blocks)
};

__device__ Word widened(int value) { return static_cast<Word>(static_cast<std::int64_t>(value)); }

// 1: neighbours first; a modulo picks the threads that add, and splits every warp.
__global__ void modulo_kernel(Input in) {
  __shared__ int part[kBlock];
  const unsigned me = threadIdx.x;
  part[me] = in.numbers[thread_index()];
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    if (me % (2 * step) == 0) part[me] += part[me + step];
    __syncthreads();
  }
  if (me == 0) in.partial[blockIdx.x] = widened(part[0]);
}

// 2: the first threads add, at strided places: whole warps, and conflicts of banks.
__global__ void strided_kernel(Input in) {
  __shared__ int part[kBlock];
  const unsigned me = threadIdx.x;
  part[me] = in.numbers[thread_index()];
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    const unsigned at = 2 * step * me;
    if (at < kBlock) part[at] += part[at + step];
    __syncthreads();
  }
  if (me == 0) in.partial[blockIdx.x] = widened(part[0]);
}

/// Halves what is left until `last` numbers remain; neighbours read neighbours.
__device__ void halve(int* part, unsigned last) {
  for (unsigned step = kBlock / 2; step >= last; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
}

// 3: sequential addressing.
__global__ void sequential_kernel(Input in) {
  __shared__ int part[kBlock];
  part[threadIdx.x] = in.numbers[thread_index()];
  __syncthreads();
  halve(part, 1);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widened(part[0]);
}

/// The first two numbers of a thread, added while they are loaded.
__device__ int first_pair(const Input& in) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kPart + threadIdx.x;
  return in.numbers[at] + in.numbers[at + kBlock];
}

// 4: the first addition while loading, since half of the threads would have been idle.
__global__ void loading_kernel(Input in) {
  __shared__ int part[kBlock];
  part[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve(part, 1);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widened(part[0]);
}

/// The last 64 numbers, by one warp that needs no barrier of the block.
__device__ void finish_in_warp(int* part) {
  if (threadIdx.x >= kWarp) return;
#pragma unroll
  for (unsigned step = kWarp; step > 0; step /= 2) {
    const int sum = part[threadIdx.x] + part[threadIdx.x + step];
    __syncwarp();
    part[threadIdx.x] = sum;
    __syncwarp();
  }
}

// 5: the last warp unrolled.
__global__ void last_warp_kernel(Input in) {
  __shared__ int part[kBlock];
  part[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve(part, 2 * kWarp);
  finish_in_warp(part);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widened(part[0]);
}

/// halve() with every step written out.
__device__ void halve_unrolled(int* part) {
#pragma unroll
  for (unsigned step = kBlock / 2; step >= 2 * kWarp; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
}

// 6: completely unrolled.
__global__ void unrolled_kernel(Input in) {
  __shared__ int part[kBlock];
  part[threadIdx.x] = first_pair(in);
  __syncthreads();
  halve_unrolled(part);
  finish_in_warp(part);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widened(part[0]);
}

// 7: several numbers per thread before the tree begins.
__global__ void several_kernel(Input in) {
  __shared__ int part[kBlock];
  int sum = 0;
  for (std::int64_t at = thread_index(); at < in.count; at += thread_count()) sum += in.numbers[at];
  part[threadIdx.x] = sum;
  __syncthreads();
  halve_unrolled(part);
  finish_in_warp(part);
  if (threadIdx.x == 0) in.partial[blockIdx.x] = widened(part[0]);
}

// 8: sixteen bytes a load, and shuffles instead of shared memory.
__global__ void shuffle_kernel(Input in) {
  const auto* fours = reinterpret_cast<const int4*>(in.numbers);
  int sum = 0;
  for (std::int64_t at = thread_index(); at < in.count / 4; at += thread_count()) {
    const int4 four = fours[at];
    sum += four.x + four.y + four.z + four.w;
  }
  const Word total = block_sum(widened(sum));
  if (threadIdx.x == 0) in.partial[blockIdx.x] = total;
}

/// Terms of floating-point sums, as integers on the contract's grid: their order cannot matter.
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

// 9 and 10: the same on float32 values, each brought to the grid before it is added.
template <class Term>
__global__ void grid_kernel(Input in, Term term) {
  const auto* fours = reinterpret_cast<const float4*>(in.values);
  Word sum = 0;
  for (std::int64_t at = thread_index(); at < in.count / 4; at += thread_count()) {
    const float4 four = fours[at];
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

/// One problem: inputs that take turns, the sums of the first one by plain loops, and the rungs.
class Reduction {
 public:
  Reduction(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& found)
      : context_(context),
        count_(count),
        turns_(turns_beyond_cache(context, 4 * count)),
        ladder_(context, request, found),
        floats_(uniform_values(count * turns_, 2)),
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

  void climb() {
    const std::int64_t one = count_ / kBlock, two = count_ / kPart;
    const std::int64_t resident = std::min<std::int64_t>(two, std::int64_t{context_.multiprocessors} * 8);
    rung("1 interleaved, modulo", one, modulo_kernel);
    rung("2 interleaved, strided", one, strided_kernel);
    rung("3 sequential addressing", one, sequential_kernel);
    rung("4 first addition while loading", two, loading_kernel);
    rung("5 last warp unrolled", two, last_warp_kernel);
    rung("6 completely unrolled", two, unrolled_kernel);
    rung("7 several numbers per thread", resident, several_kernel);
    rung("8 shuffles, 16-byte loads", resident, shuffle_kernel);
    fixed_rung("9 float32 as integers", resident, SumTerm{scale_}, fixed_sum_);
    fixed_rung("10 squares as integers: the norm", resident, SquareTerm{scale_}, fixed_squares_);
    vendor_rung();
  }

 private:
  Measurement line(const char* name) const {
    return {.name = name,
            .shape = std::to_string(count_),
            .work = 4.0 * static_cast<double>(count_),
            .unit = WorkUnit::bytes,
            .limit = kReadLimit};
  }
  Input input(std::int64_t turn) const {
    const std::int64_t first = turn % turns_ * count_;
    return {numbers_.data() + first, values_.data() + first, count_, partial_.data()};
  }
  void finish(std::int64_t blocks) const {
    finish_kernel<<<1, kBlock, 0, context_.stream>>>(partial_.data(), static_cast<unsigned>(blocks), result_.data());
  }
  std::string compare(std::int64_t expected) const {
    Word found = 0;
    context_.stream.download(&found, result_.data(), 1);
    if (static_cast<std::int64_t>(found) == expected) return "";
    return joined("expected ", expected, ", found ", static_cast<std::int64_t>(found));
  }

  void rung(const char* name, std::int64_t blocks, void (*kernel)(Input)) {
    ladder_.climb(
        line(name),
        [&](std::int64_t turn) {
          kernel<<<static_cast<unsigned>(blocks), kBlock, 0, context_.stream>>>(input(turn));
          finish(blocks);
        },
        [&] { return compare(sum_); });
  }
  template <class Term>
  void fixed_rung(const char* name, std::int64_t blocks, Term term, std::int64_t expected) {
    ladder_.climb(
        line(name),
        [&](std::int64_t turn) {
          grid_kernel<<<static_cast<unsigned>(blocks), kBlock, 0, context_.stream>>>(input(turn), term);
          finish(blocks);
        },
        [&] { return compare(expected); });
  }
  void vendor_rung() {
    const VendorLibrary library(context_.stream);
    Measurement mine = line("the norm by cuBLAS");
    if (!library.missing().empty() || count_ > (1 << 30)) {
      mine.missing = library.missing().empty() ? "more numbers than its interface counts" : library.missing();
      ladder_.leave_out(std::move(mine));
      return;
    }
    auto* result = reinterpret_cast<float*>(result_.data());
    const double expected = std::sqrt(from_fixed(fixed_squares_, scale_.shift));
    ladder_.climb(
        std::move(mine), [&](std::int64_t turn) { library.norm(static_cast<int>(count_), input(turn).values, result); },
        [&]() -> std::string {
          float found = 0.0F;
          context_.stream.download(&found, result, 1);
          if (std::abs(found - expected) <= 1e-4 * expected) return "";
          return joined("expected ", expected, ", found ", found);
        });
  }

  Context& context_;
  std::int64_t count_, turns_;
  Ladder ladder_;
  std::vector<float> floats_;
  FixedScale scale_;
  std::int64_t sum_ = 0, fixed_sum_ = 0, fixed_squares_ = 0;
  Buffer<int> numbers_;
  Buffer<float> values_;
  Buffer<Word> partial_, result_;
};

}  // namespace

std::vector<Measurement> climb_reduce(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) {
    if (shape.columns != 1 || shape.rows % kPart != 0) {
      throw Error(ExitCode::usage,
                  joined("--shape ", shape.rows, "x", shape.columns, ": expected Nx1 with N a multiple of ", kPart));
    }
    counts.push_back(shape.rows);
  }
  if (counts.empty()) counts.push_back(kNumbers);
  Context context(request.backend);
  std::vector<Measurement> found;
  for (const std::int64_t count : counts) Reduction(context, count, request, found).climb();
  return found;
}

}  // namespace kith::cuda
