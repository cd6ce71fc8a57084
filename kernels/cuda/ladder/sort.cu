// Ladder: n 32-bit integers sorted in ascending order by radix sort, from one bit per pass to eight, compared with CUB.
//
// A pass counts the digits in each block of keys, computes from the counts where each block's keys of a digit begin
// (G. E. Blelloch: Prefix sums and their applications, 1990; N. Satish, M. Harris, M. Garland: Designing efficient
// sorting algorithms for manycore GPUs, 2009), and moves the keys there; equal digits keep their order. A pass reads
// the keys twice and writes them once, 12 n bytes. The rate counts 32 n bytes for every rung: four passes that read and
// write once.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/ladder.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 24;
constexpr int kThreadKeys = 16;
constexpr int kBlockKeys = kBlock * kThreadKeys;  // n is a multiple of it
constexpr int kWarpKeys = kWarp * kThreadKeys;    // consecutive keys

/// One pass: sorts by the digit of kBits bits that begins at bit `low`.
struct Pass {
  const std::uint32_t* from;
  std::uint32_t* to;
  std::uint32_t* count;  // (digits, blocks) keys of the digit in the block; after the scan, in the blocks before it
  std::uint32_t* total;  // (digits) keys of the digit
  unsigned blocks;
  int low;
};

template <int kBits>
__device__ unsigned digit_of(std::uint32_t key, int low) {
  return key >> low & ((1U << kBits) - 1);
}

/// Histogram of each block, in shared memory.
template <int kBits>
__global__ void count_kernel(Pass pass) {
  constexpr int kDigits = 1 << kBits;
  static_assert(kDigits <= kBlock, "a thread has one digit");
  __shared__ unsigned histogram[kDigits];
  if (threadIdx.x < kDigits) histogram[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t* keys = pass.from + static_cast<std::int64_t>(blockIdx.x) * kBlockKeys;
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) {
    atomicAdd(&histogram[digit_of<kBits>(keys[i * kBlock + threadIdx.x], pass.low)], 1U);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) pass.count[threadIdx.x * pass.blocks + blockIdx.x] = histogram[threadIdx.x];
}

/// One block per digit: replaces each count by the number of keys of the digit in all blocks before.
__global__ void scan_kernel(Pass pass) {
  std::uint32_t* count = pass.count + blockIdx.x * pass.blocks;
  std::uint32_t before = 0;
  for (unsigned first = 0; first < pass.blocks; first += kBlock) {
    const unsigned at = first + threadIdx.x;
    const BlockPrefix prefix = block_prefix(at < pass.blocks ? count[at] : 0);
    if (at < pass.blocks) count[at] = before + prefix.before;
    before += prefix.total;
  }
  if (threadIdx.x == 0) pass.total[blockIdx.x] = before;
}

/// Ranks of a block's keys among its keys of the same digit. Each warp ranks its own consecutive keys, 32 at a time.
template <int kBits>
struct Ranks {
  static constexpr int kDigits = 1 << kBits;
  std::uint32_t before[kBlockWarps][kDigits];  // keys of the digit in the warps before
  std::uint32_t first[kDigits];                // destination of the block's first key of the digit
  std::uint32_t local[kDigits];                // its index when the block's keys are sorted

  /// Loads this thread's keys and ranks them; key i is key kWarp * i + lane of its warp. All threads call it.
  __device__ void compute(const Pass& pass, std::uint32_t (&key)[kThreadKeys], std::uint32_t (&rank)[kThreadKeys]) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int digit = lane_index(); digit < kDigits; digit += kWarp) before[warp][digit] = 0;
    __syncwarp();
    const std::uint32_t* keys =
        pass.from + static_cast<std::int64_t>(blockIdx.x) * kBlockKeys + warp * kWarpKeys + lane_index();
#pragma unroll
    for (int i = 0; i < kThreadKeys; ++i) key[i] = keys[i * kWarp];
#pragma unroll
    for (int i = 0; i < kThreadKeys; ++i) {
      const unsigned digit = digit_of<kBits>(key[i], pass.low);
      const unsigned equal = __match_any_sync(kAllLanes, digit);
      const unsigned lower = __popc(equal & ((1U << lane_index()) - 1U));
      rank[i] = before[warp][digit] + lower;
      __syncwarp();
      if (lower == 0) before[warp][digit] += __popc(equal);
      __syncwarp();
    }
    __syncthreads();
    const bool has_digit = threadIdx.x < kDigits;
    std::uint32_t digit_keys = 0;  // keys of this thread's digit in the block
    if (has_digit) {
      for (auto& warp_before : before) {
        const std::uint32_t warp_keys = warp_before[threadIdx.x];
        warp_before[threadIdx.x] = digit_keys;
        digit_keys += warp_keys;
      }
    }
    const std::uint32_t smaller_digits = block_prefix(has_digit ? pass.total[threadIdx.x] : 0).before;
    const std::uint32_t smaller_in_block = block_prefix(digit_keys).before;
    if (has_digit) {
      first[threadIdx.x] = smaller_digits + pass.count[threadIdx.x * pass.blocks + blockIdx.x];
      local[threadIdx.x] = smaller_in_block;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kThreadKeys; ++i) rank[i] += before[warp][digit_of<kBits>(key[i], pass.low)];
  }
};

/// Writes keys from registers to their destinations.
template <int kBits>
__global__ void __launch_bounds__(kBlock) scatter_kernel(Pass pass) {
  __shared__ Ranks<kBits> ranks;
  std::uint32_t key[kThreadKeys], rank[kThreadKeys];
  ranks.compute(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) pass.to[ranks.first[digit_of<kBits>(key[i], pass.low)] + rank[i]] = key[i];
}

/// Sorts the block's keys in shared memory first, so that neighbouring threads write neighbouring keys.
template <int kBits>
__global__ void __launch_bounds__(kBlock) sorted_scatter_kernel(Pass pass) {
  __shared__ Ranks<kBits> ranks;
  __shared__ std::uint32_t sorted[kBlockKeys];
  std::uint32_t key[kThreadKeys], rank[kThreadKeys];
  ranks.compute(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) sorted[ranks.local[digit_of<kBits>(key[i], pass.low)] + rank[i]] = key[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) {
    const unsigned at = i * kBlock + threadIdx.x, digit = digit_of<kBits>(sorted[at], pass.low);
    pass.to[ranks.first[digit] + at - ranks.local[digit]] = sorted[at];
  }
}

/// One problem: keys, two buffers for the passes, and the keys sorted on the host.
class Sorting {
 public:
  Sorting(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& measurements)
      : context_(context),
        count_(count),
        blocks_(static_cast<unsigned>(count / kBlockKeys)),
        ladder_(context, request, measurements),
        counts_(context.pool, std::int64_t{kBlock} * blocks_),
        totals_(context.pool, kBlock) {
    expected_.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) expected_[i] = philox(3, 0, static_cast<std::uint64_t>(i))[0];
    keys_ = to_device(context, expected_);
    std::sort(expected_.begin(), expected_.end());
    for (auto& buffer : buffer_) buffer = Buffer<std::uint32_t>(context.pool, count);
  }

  void run() {
    rung("1 one bit per pass", [&] { sort<1>(scatter_kernel<1>); });
    rung("2 four bits per pass", [&] { sort<4>(scatter_kernel<4>); });
    rung("3 eight bits per pass", [&] { sort<8>(scatter_kernel<8>); });
    rung("4 sorted within the block first", [&] { sort<8>(sorted_scatter_kernel<8>); });

    std::size_t bytes = 0;
    const auto run_cub = [&](void* temporary) {
      check(cub::DeviceRadixSort::SortKeys(temporary, bytes, keys_.data(), buffer_[1].data(), static_cast<int>(count_),
                                           0, 32, context_.stream));
    };
    run_cub(nullptr);
    Buffer<std::byte> temporary(context_.pool, static_cast<std::int64_t>(bytes));
    rung("5 CUB (used by kith)", [&] { run_cub(temporary.data()); });
  }

 private:
  /// Sorts keys_ into buffer_[1].
  template <int kBits>
  void sort(void (*scatter)(Pass)) {
    static_assert(32 / kBits % 2 == 0, "an even number of passes ends in the second buffer");
    const std::uint32_t* from = keys_.data();
    int to = 0;
    for (int low = 0; low < 32; low += kBits, to ^= 1) {
      const Pass pass{from, buffer_[to].data(), counts_.data(), totals_.data(), blocks_, low};
      count_kernel<kBits><<<blocks_, kBlock, 0, context_.stream>>>(pass);
      scan_kernel<<<1 << kBits, kBlock, 0, context_.stream>>>(pass);
      scatter<<<blocks_, kBlock, 0, context_.stream>>>(pass);
      from = buffer_[to].data();
    }
  }

  void rung(const char* name, const std::function<void()>& launch) {
    context_.stream.fill(buffer_[1].data(), 0, count_);
    ladder_.run(
        {.name = name,
         .shape = std::to_string(count_),
         .work = static_cast<double>(count_),
         .unit = WorkUnit::rows,
         .limit = kCopyLimit,
         .limit_work = 32.0 * static_cast<double>(count_)},
        [&](std::int64_t) { launch(); }, [&] { return compare(); });
  }

  std::string compare() const {
    std::vector<std::uint32_t> result(expected_.size());
    context_.stream.download(result.data(), buffer_[1].data(), count_);
    const auto [at, other] = std::mismatch(expected_.begin(), expected_.end(), result.begin());
    if (at == expected_.end()) return "";
    return concat("index ", at - expected_.begin(), ": expected ", *at, ", found ", *other);
  }

  Context& context_;
  std::int64_t count_;
  unsigned blocks_;
  Ladder ladder_;
  std::vector<std::uint32_t> expected_;
  Buffer<std::uint32_t> keys_, counts_, totals_;
  Buffer<std::uint32_t> buffer_[2];
};

}  // namespace

std::vector<Measurement> climb_sort(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) {
    if (shape.columns != 1 || shape.rows % kBlockKeys != 0 || shape.rows > (std::int64_t{1} << 30)) {
      throw Error(ExitCode::usage, concat("--shape ", shape.rows, "x", shape.columns,
                                          ": expected Nx1 with N a multiple of ", kBlockKeys, " up to 2^30"));
    }
    counts.push_back(shape.rows);
  }
  if (counts.empty()) counts.push_back(kNumbers);
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const std::int64_t count : counts) Sorting(context, count, request, measurements).run();
  return measurements;
}

}  // namespace kith::cuda
