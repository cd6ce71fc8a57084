// Rungs of the ladder of vectors: atomic additions, and reads of shared memory with bank conflicts.
//
// The sums and histograms read 4 n bytes, and the read rate is the limit. Additions are `red` instructions, because
// the compiler would add the lanes of a warp before an atomicAdd() to one address. Reads of shared memory are compared
// with reads of 16-byte words without conflicts.
#include "bench/ladders/cuda/ladder.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBins = 256;
static_assert(kBins == kBlock, "a thread has one bin");

__device__ void add_to(unsigned* address, unsigned value) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

struct Numbers {
  const unsigned* values;  // each below kBins
  std::int64_t count;
  unsigned* out;  // (kBins); a sum is in the first
};

// Every thread adds each number to one address.
__global__ void one_address_kernel(Numbers in) {
  for (std::int64_t i = thread_index(); i < in.count; i += thread_count()) add_to(in.out, in.values[i]);
}

// The threads of a block add their numbers first.
__global__ void one_per_block_kernel(Numbers in) {
  unsigned sum = 0;
  for (std::int64_t i = thread_index(); i < in.count; i += thread_count()) sum += in.values[i];
  const Word total = block_sum(sum);
  if (threadIdx.x == 0) add_to(in.out, static_cast<unsigned>(total));
}

__global__ void global_bins_kernel(Numbers in) {
  for (std::int64_t i = thread_index(); i < in.count; i += thread_count()) add_to(in.out + in.values[i], 1);
}

// Each block has its own bins, in shared memory.
__global__ void private_bins_kernel(Numbers in) {
  __shared__ unsigned bins[kBins];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (std::int64_t i = thread_index(); i < in.count; i += thread_count()) atomicAdd(&bins[in.values[i]], 1U);
  __syncthreads();
  add_to(in.out + threadIdx.x, bins[threadIdx.x]);
}

constexpr unsigned kReads = 16;  // of every thread in a round
constexpr unsigned kRounds = 64;
constexpr unsigned kBankWords = 1024;

__host__ __device__ unsigned bank_word(unsigned i) { return i * 2654435769U; }

/// Lane l reads words stride l, stride l + 1 and so on: the lanes are in 32 / stride banks.
__global__ void bank_kernel(unsigned stride, unsigned* out) {
  __shared__ unsigned words[kBankWords];
  for (unsigned i = threadIdx.x; i < kBankWords; i += kBlock) words[i] = bank_word(i);
  __syncthreads();
  const volatile unsigned* from = words + lane_index() * stride;  // volatile: read again in every round
  unsigned sum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < kReads; ++i) sum += from[i];
  }
  out[thread_index()] = sum;
}
static_assert((kWarp - 1) * kWarp + kReads <= kBankWords, "the largest stride stays inside");

/// One problem: copies of random numbers, their sum and histogram, and the rungs.
class Atomics {
 public:
  Atomics(Context& context, std::int64_t count, Ladder& ladder)
      : context_(context),
        ladder_(ladder),
        count_(count),
        pitch_(multiple_of_four(count)),
        copies_(copies_beyond_cache(context, 4 * pitch_)),
        histogram_(kBins),
        out_(context.pool, kBins) {
    std::vector<unsigned> values(static_cast<std::size_t>(pitch_ * copies_));
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      values[i] = (static_cast<unsigned>(i) * 2654435769U >> 15) % kBins;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      sum_ += values[i];
      ++histogram_[values[i]];
    }
    values_ = to_device(context, values);
  }

  void run(int number) {
    std::vector<unsigned> sum(kBins);
    sum[0] = sum_;
    rung(concat(number, " sum: one address"), one_address_kernel, sum);
    rung(concat(number + 1, " sum: one atomic per block"), one_per_block_kernel, sum);
    rung(concat(number + 2, " histogram: bins in global memory"), global_bins_kernel, histogram_);
    rung(concat(number + 3, " histogram: bins in shared memory"), private_bins_kernel, histogram_);
  }

 private:
  void rung(const std::string& name, void (*kernel)(Numbers), const std::vector<unsigned>& expected) {
    context_.stream.fill(out_.data(), 0, kBins);  // later launches add to the result of the first, which is checked
    ladder_.run(
        {.name = name,
         .shape = std::to_string(count_),
         .work = 4.0 * static_cast<double>(count_),
         .unit = WorkUnit::bytes,
         .limit = kReadLimit},
        [&](std::int64_t turn) {
          const Numbers in{values_.data() + turn % copies_ * pitch_, count_, out_.data()};
          kernel<<<context_.grid(count_, kBlock), kBlock, 0, context_.stream>>>(in);
        },
        [&]() -> std::string {
          std::vector<unsigned> found(kBins);
          context_.stream.download(found.data(), out_.data(), kBins);
          for (int bin = 0; bin < kBins; ++bin) {
            if (found[bin] != expected[bin])
              return concat("bin ", bin, ": expected ", expected[bin], ", found ", found[bin]);
          }
          return "";
        });
  }

  Context& context_;
  Ladder& ladder_;
  std::int64_t count_, pitch_, copies_;
  unsigned sum_ = 0;
  std::vector<unsigned> histogram_;
  Buffer<unsigned> values_, out_;
};

void climb_banks(Context& context, int number, Ladder& ladder) {
  const unsigned blocks = static_cast<unsigned>(context.multiprocessors) * 8;
  const Buffer<unsigned> out(context.pool, std::int64_t{blocks} * kBlock);
  std::vector<unsigned> found(static_cast<std::size_t>(out.size()));
  for (unsigned stride = 1; stride <= kWarp; stride *= 2) {
    context.stream.fill(out.data(), 0, out.size());
    ladder.run(
        {.name = concat(number++, " shared memory, stride ", stride),
         .work = 4.0 * kReads * kRounds * static_cast<double>(out.size()),
         .unit = WorkUnit::bytes,
         .limit = kSharedLimit},
        [&](std::int64_t) { bank_kernel<<<blocks, kBlock, 0, context.stream>>>(stride, out.data()); },
        [&]() -> std::string {
          context.stream.download(found.data(), out.data(), out.size());
          for (std::size_t thread = 0; thread < found.size(); ++thread) {
            unsigned expected = 0;
            for (unsigned i = 0; i < kReads; ++i) {
              expected += kRounds * bank_word(static_cast<unsigned>(thread) % kWarp * stride + i);
            }
            if (found[thread] != expected)
              return concat("thread ", thread, ": expected ", expected, ", found ", found[thread]);
          }
          return "";
        });
  }
}

}  // namespace

void climb_contention(Context& context, std::int64_t count, int number, const BenchRequest& request,
                      std::vector<Measurement>& measurements) {
  Ladder ladder(context, request, measurements);
  Atomics(context, count, ladder).run(number);
  climb_banks(context, number + 4, ladder);
}

}  // namespace kith::cuda
