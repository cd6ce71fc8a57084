// Ladder: n integers sorted in ascending order by radix sort, from one bit per pass to eight, compared with CUB: keys
// of 32 bits, of 64 bits, and pairs of a key and a value.
//
// A pass counts the digits in each block of keys, computes from the counts where each block's keys of a digit begin
// (G. E. Blelloch: Prefix sums and their applications, 1990; N. Satish, M. Harris, M. Garland: Designing efficient
// sorting algorithms for manycore GPUs, 2009), and moves the keys there; equal digits keep their order. A pass reads
// the keys twice and writes them once. The rate counts passes of eight bits that read and write once: 32 n bytes, 128 n
// for keys of 64 bits, 64 n for pairs.
#include <cub/device/device_radix_sort.cuh>
#include <numeric>
#include <utility>

#include "bench/ladders/cuda/ladder.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 24;
constexpr int kThreadKeys = 16;
constexpr int kBlockKeys = kBlock * kThreadKeys;  // n is a multiple of it
constexpr int kWarpKeys = kWarp * kThreadKeys;    // consecutive keys

/// One pass: sorts by the digit of kBits bits that begins at bit `low`.
template <class Key>
struct Pass {
  const Key* from;
  Key* to;
  const std::uint32_t* from_values;  // null: there are only keys
  std::uint32_t* to_values;
  std::uint32_t* count;  // (digits, blocks) keys of the digit in the block; after the scan, in the blocks before it
  std::uint32_t* total;  // (digits) keys of the digit
  unsigned blocks;
  int low;
};

template <int kBits, class Key>
__device__ unsigned digit_of(Key key, int low) {
  return static_cast<unsigned>(key >> low) & ((1U << kBits) - 1);
}

/// Histogram of each block, in shared memory.
template <int kBits, class Key>
__global__ void count_kernel(Pass<Key> pass) {
  constexpr int kDigits = 1 << kBits;
  static_assert(kDigits <= kBlock, "a thread has one digit");
  __shared__ unsigned histogram[kDigits];
  if (threadIdx.x < kDigits) histogram[threadIdx.x] = 0;
  __syncthreads();
  const Key* keys = pass.from + static_cast<std::int64_t>(blockIdx.x) * kBlockKeys;
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) {
    atomicAdd(&histogram[digit_of<kBits>(keys[i * kBlock + threadIdx.x], pass.low)], 1U);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) pass.count[threadIdx.x * pass.blocks + blockIdx.x] = histogram[threadIdx.x];
}

/// One block per digit: replaces each count by the number of keys of the digit in all blocks before.
template <class Key>
__global__ void scan_kernel(Pass<Key> pass) {
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

/// Index of this thread's first key; the others follow at distances of kWarp.
__device__ std::int64_t first_key() {
  return static_cast<std::int64_t>(blockIdx.x) * kBlockKeys + threadIdx.x / kWarp * kWarpKeys + lane_index();
}

/// Ranks of a block's keys among its keys of the same digit. Each warp ranks its own consecutive keys, 32 at a time.
template <int kBits>
struct Ranks {
  static constexpr int kDigits = 1 << kBits;
  std::uint32_t before[kBlockWarps][kDigits];  // keys of the digit in the warps before
  std::uint32_t first[kDigits];                // destination of the block's first key of the digit
  std::uint32_t local[kDigits];                // its index when the block's keys are sorted

  /// Loads this thread's keys and ranks them; key i is key kWarp * i + lane of its warp. All threads call it.
  template <class Key>
  __device__ void compute(const Pass<Key>& pass, Key (&key)[kThreadKeys], std::uint32_t (&rank)[kThreadKeys]) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int digit = lane_index(); digit < kDigits; digit += kWarp) before[warp][digit] = 0;
    __syncwarp();
    const Key* keys = pass.from + first_key();
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
template <int kBits, class Key>
__global__ void __launch_bounds__(kBlock) scatter_kernel(Pass<Key> pass) {
  __shared__ Ranks<kBits> ranks;
  Key key[kThreadKeys];
  std::uint32_t rank[kThreadKeys];
  ranks.compute(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) pass.to[ranks.first[digit_of<kBits>(key[i], pass.low)] + rank[i]] = key[i];
}

/// Sorts the block's keys in shared memory first, so that neighbouring threads write neighbouring keys.
template <int kBits, bool kPairs, class Key>
__global__ void __launch_bounds__(kBlock) sorted_scatter_kernel(Pass<Key> pass) {
  __shared__ Ranks<kBits> ranks;
  __shared__ Key sorted[kBlockKeys];
  __shared__ std::uint32_t sorted_values[kPairs ? kBlockKeys : 1];
  Key key[kThreadKeys];
  std::uint32_t rank[kThreadKeys];
  ranks.compute(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) {
    const std::uint32_t at = ranks.local[digit_of<kBits>(key[i], pass.low)] + rank[i];
    sorted[at] = key[i];
    if constexpr (kPairs) sorted_values[at] = pass.from_values[first_key() + i * kWarp];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kThreadKeys; ++i) {
    const unsigned at = i * kBlock + threadIdx.x, digit = digit_of<kBits>(sorted[at], pass.low);
    const std::uint32_t to = ranks.first[digit] + at - ranks.local[digit];
    pass.to[to] = sorted[at];
    if constexpr (kPairs) pass.to_values[to] = sorted_values[at];
  }
}

/// One problem: keys, for pairs with their indices as values, and two buffers for the passes.
template <class Key, bool kPairs>
class Sorting {
 public:
  Sorting(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& measurements)
      : context_(context),
        count_(count),
        blocks_(static_cast<unsigned>(count / kBlockKeys)),
        ladder_(context, request, measurements),
        host_keys_(static_cast<std::size_t>(count)),
        counts_(context.pool, std::int64_t{kBlock} * blocks_),
        totals_(context.pool, kBlock) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto words = philox(3, 0, static_cast<std::uint64_t>(i));
      host_keys_[i] = static_cast<Key>(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
      if (kPairs) host_keys_[i] %= static_cast<Key>(count / 4 + 1);  // keys repeat: equal ones must keep their order
    }
    keys_ = to_device(context, host_keys_);
    for (auto& buffer : buffer_) buffer = Buffer<Key>(context.pool, count);
    if (!kPairs) {
      std::sort(host_keys_.begin(), host_keys_.end());
      return;
    }
    std::vector<std::uint32_t> indices(host_keys_.size());
    std::iota(indices.begin(), indices.end(), 0U);
    values_ = to_device(context, indices);
    for (auto& buffer : value_buffer_) buffer = Buffer<std::uint32_t>(context.pool, count);
  }

  /// The rungs up to eight bits per pass, for keys of 32 bits alone.
  void run_first() {
    rung("1 one bit per pass", [&] { sort<1>(scatter_kernel<1, Key>); });
    rung("2 four bits per pass", [&] { sort<4>(scatter_kernel<4, Key>); });
    rung("3 eight bits per pass", [&] { sort<8>(scatter_kernel<8, Key>); });
  }

  void run_last(const char* sorted_name, const char* cub_name) {
    rung(sorted_name, [&] { sort<8>(sorted_scatter_kernel<8, kPairs, Key>); });
    std::size_t bytes = 0;
    run_cub(nullptr, bytes);
    const Buffer<std::byte> temporary(context_.pool, static_cast<std::int64_t>(bytes));
    rung(cub_name, [&] { run_cub(temporary.data(), bytes); });
    ladder_.compare_with_last("CUB");
  }

 private:
  static constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Key));

  /// Sets `bytes` if `temporary` is null.
  void run_cub(void* temporary, std::size_t& bytes) {
    if constexpr (kPairs) {
      check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_.data(), buffer_[1].data(), values_.data(),
                                            value_buffer_[1].data(), count_, 0, kKeyBits, context_.stream));
    } else {
      check(cub::DeviceRadixSort::SortKeys(temporary, bytes, keys_.data(), buffer_[1].data(), count_, 0, kKeyBits,
                                           context_.stream));
    }
  }

  /// Sorts keys_ into buffer_[1], and values_ into value_buffer_[1].
  template <int kBits>
  void sort(void (*scatter)(Pass<Key>)) {
    static_assert(kKeyBits / kBits % 2 == 0, "an even number of passes ends in the second buffer");
    const Key* from = keys_.data();
    const std::uint32_t* from_values = values_.data();
    int to = 0;
    for (int low = 0; low < kKeyBits; low += kBits, to ^= 1) {
      const Pass<Key> pass{from,           buffer_[to].data(), from_values, value_buffer_[to].data(),
                           counts_.data(), totals_.data(),     blocks_,     low};
      count_kernel<kBits><<<blocks_, kBlock, 0, context_.stream>>>(pass);
      scan_kernel<<<1 << kBits, kBlock, 0, context_.stream>>>(pass);
      scatter<<<blocks_, kBlock, 0, context_.stream>>>(pass);
      from = pass.to;
      from_values = pass.to_values;
    }
  }

  void rung(const char* name, const std::function<void()>& launch) {
    context_.stream.fill(buffer_[1].data(), 0, count_);
    if (kPairs) context_.stream.fill(value_buffer_[1].data(), 0, count_);
    const double bytes = sizeof(Key) + (kPairs ? sizeof(std::uint32_t) : 0);
    ladder_.run(
        {.name = name,
         .shape = std::to_string(count_),
         .work = static_cast<double>(count_),
         .unit = WorkUnit::rows,
         .limit = kCopyLimit,
         .limit_work = 2.0 * sizeof(Key) * bytes * static_cast<double>(count_)},
        [&](std::int64_t) { launch(); }, [&] { return kPairs ? compare_pairs() : compare_keys(); });
  }

  std::string compare_keys() const {
    std::vector<Key> result(host_keys_.size());
    context_.stream.download(result.data(), buffer_[1].data(), count_);
    const auto [at, other] = std::mismatch(host_keys_.begin(), host_keys_.end(), result.begin());
    if (at == host_keys_.end()) return "";
    return concat("index ", at - host_keys_.begin(), ": expected ", *at, ", found ", *other);
  }

  /// Every value is the index of its key, and pairs ascend: so all indices occur, and equal keys kept their order.
  std::string compare_pairs() const {
    std::vector<Key> keys(host_keys_.size());
    std::vector<std::uint32_t> values(host_keys_.size());
    context_.stream.download(keys.data(), buffer_[1].data(), count_);
    context_.stream.download(values.data(), value_buffer_[1].data(), count_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (values[i] >= keys.size() || host_keys_[values[i]] != keys[i]) {
        return concat("index ", i, ": key ", keys[i], " has value ", values[i], ", which is not its index");
      }
      if (i > 0 && std::pair(keys[i - 1], values[i - 1]) >= std::pair(keys[i], values[i])) {
        return concat("index ", i, ": the pair (", keys[i], ", ", values[i], ") does not follow the one before");
      }
    }
    return "";
  }

  Context& context_;
  std::int64_t count_;
  unsigned blocks_;
  Ladder ladder_;
  std::vector<Key> host_keys_;  // sorted, unless they have values
  Buffer<std::uint32_t> counts_, totals_;
  Buffer<Key> keys_, buffer_[2];
  Buffer<std::uint32_t> values_, value_buffer_[2];  // empty without values
};

void run_ladder(Context& context, std::int64_t count, const BenchRequest& request,
                std::vector<Measurement>& measurements) {
  {
    Sorting<std::uint32_t, false> keys(context, count, request, measurements);
    keys.run_first();
    keys.run_last("4 sorted within the block first", "5 CUB (used by kith)");
  }
  Sorting<std::uint64_t, false>(context, count, request, measurements)
      .run_last("6 64-bit keys, as rung 4", "7 64-bit keys, CUB");
  Sorting<std::uint32_t, true>(context, count, request, measurements).run_last("8 pairs, as rung 4", "9 pairs, CUB");
}

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
  for (const std::int64_t count : counts) run_ladder(context, count, request, measurements);
  return measurements;
}

}  // namespace kith::cuda
