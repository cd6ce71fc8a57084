// Ladder: n 32-bit integers in ascending order by radix sort, from one bit a pass to eight, beside CUB's.
//
// A pass counts the digits of each block of keys, turns the counts into the places where each block's keys of a digit
// begin (G. E. Blelloch: Prefix sums and their applications, 1990; N. Satish, M. Harris, M. Garland: Designing
// efficient sorting algorithms for manycore GPUs, 2009), and moves the keys there; equal digits keep their order. A
// pass reads the keys twice and writes them once, 12 n bytes. The rate counts 32 n bytes for every rung: four passes
// that read and write once.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/ladder.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kNumbers = std::int64_t{1} << 24;
constexpr int kEach = 16;                   // keys of a thread
constexpr int kBlockKeys = kBlock * kEach;  // keys of a block; n is a multiple of it
constexpr int kWarpKeys = kWarp * kEach;    // consecutive keys of a warp

/// One pass: by the digit of kBits bits from bit `low` on.
struct Pass {
  const std::uint32_t* from;
  std::uint32_t* to;
  std::uint32_t* count;  // (digits, blocks) keys of the digit in the block, then those in the blocks before it
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
  for (int i = 0; i < kEach; ++i) {
    atomicAdd(&histogram[digit_of<kBits>(keys[i * kBlock + threadIdx.x], pass.low)], 1U);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) pass.count[threadIdx.x * pass.blocks + blockIdx.x] = histogram[threadIdx.x];
}

/// A block has a digit: counts become the number of its keys in all blocks before.
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

/// Ranks of a block's keys among those of the same digit: each warp ranks its own consecutive keys, 32 at a time.
template <int kBits>
struct Ranks {
  static constexpr int kDigits = 1 << kBits;
  std::uint32_t before[kBlockWarps][kDigits];  // keys of the digit in the warps before
  std::uint32_t first[kDigits];                // where the block's keys of the digit go
  std::uint32_t local[kDigits];                // where they begin when the block's keys are sorted

  /// key and rank: (kEach) of this thread, in the order key kWarp * i + lane of its warp. All threads call it.
  __device__ void find(const Pass& pass, std::uint32_t (&key)[kEach], std::uint32_t (&rank)[kEach]) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int digit = lane_index(); digit < kDigits; digit += kWarp) before[warp][digit] = 0;
    __syncwarp();
    const std::uint32_t* keys =
        pass.from + static_cast<std::int64_t>(blockIdx.x) * kBlockKeys + warp * kWarpKeys + lane_index();
#pragma unroll
    for (int i = 0; i < kEach; ++i) key[i] = keys[i * kWarp];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
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
    std::uint32_t mine = 0;  // keys of this thread's digit in the block
    if (has_digit) {
      for (auto& of_warp : before) {
        const std::uint32_t here = of_warp[threadIdx.x];
        of_warp[threadIdx.x] = mine;
        mine += here;
      }
    }
    const std::uint32_t in_all = block_prefix(has_digit ? pass.total[threadIdx.x] : 0).before;
    const std::uint32_t in_block = block_prefix(mine).before;
    if (has_digit) {
      first[threadIdx.x] = in_all + pass.count[threadIdx.x * pass.blocks + blockIdx.x];
      local[threadIdx.x] = in_block;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kEach; ++i) rank[i] += before[warp][digit_of<kBits>(key[i], pass.low)];
  }
};

/// Keys go from registers straight to their places.
template <int kBits>
__global__ void __launch_bounds__(kBlock) scatter_kernel(Pass pass) {
  __shared__ Ranks<kBits> ranks;
  std::uint32_t key[kEach], rank[kEach];
  ranks.find(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kEach; ++i) pass.to[ranks.first[digit_of<kBits>(key[i], pass.low)] + rank[i]] = key[i];
}

/// Keys are sorted within the block first, so that neighbours write neighbours.
template <int kBits>
__global__ void __launch_bounds__(kBlock) sorted_scatter_kernel(Pass pass) {
  __shared__ Ranks<kBits> ranks;
  __shared__ std::uint32_t sorted[kBlockKeys];
  std::uint32_t key[kEach], rank[kEach];
  ranks.find(pass, key, rank);
#pragma unroll
  for (int i = 0; i < kEach; ++i) sorted[ranks.local[digit_of<kBits>(key[i], pass.low)] + rank[i]] = key[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const unsigned at = i * kBlock + threadIdx.x, digit = digit_of<kBits>(sorted[at], pass.low);
    pass.to[ranks.first[digit] + at - ranks.local[digit]] = sorted[at];
  }
}

/// One problem: keys, room for two copies of them, and their sorted order by the host.
class Sorting {
 public:
  Sorting(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& found)
      : context_(context),
        count_(count),
        blocks_(static_cast<unsigned>(count / kBlockKeys)),
        ladder_(context, request, found),
        counts_(context.pool, std::int64_t{kBlock} * blocks_),
        totals_(context.pool, kBlock) {
    expected_.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) expected_[i] = philox(3, 0, static_cast<std::uint64_t>(i))[0];
    keys_ = to_device(context, expected_);
    std::sort(expected_.begin(), expected_.end());
    for (auto& room : room_) room = Buffer<std::uint32_t>(context.pool, count);
  }

  void climb() {
    rung("1 one bit a pass", [&] { sort<1>(scatter_kernel<1>); });
    rung("2 four bits a pass", [&] { sort<4>(scatter_kernel<4>); });
    rung("3 eight bits a pass", [&] { sort<8>(scatter_kernel<8>); });
    rung("4 sorted within the block first", [&] { sort<8>(sorted_scatter_kernel<8>); });

    std::size_t bytes = 0;
    const auto run_cub = [&](void* temporary) {
      check(cub::DeviceRadixSort::SortKeys(temporary, bytes, keys_.data(), room_[1].data(), static_cast<int>(count_), 0,
                                           32, context_.stream));
    };
    run_cub(nullptr);
    Buffer<std::byte> temporary(context_.pool, static_cast<std::int64_t>(bytes));
    rung("5 CUB, which kith calls", [&] { run_cub(temporary.data()); });
  }

 private:
  /// Sorted keys end in the second room: the number of passes is even.
  template <int kBits>
  void sort(void (*scatter)(Pass)) {
    static_assert(32 / kBits % 2 == 0, "the last pass writes to the second room");
    const std::uint32_t* from = keys_.data();
    int to = 0;
    for (int low = 0; low < 32; low += kBits, to ^= 1) {
      const Pass pass{from, room_[to].data(), counts_.data(), totals_.data(), blocks_, low};
      count_kernel<kBits><<<blocks_, kBlock, 0, context_.stream>>>(pass);
      scan_kernel<<<1 << kBits, kBlock, 0, context_.stream>>>(pass);
      scatter<<<blocks_, kBlock, 0, context_.stream>>>(pass);
      from = room_[to].data();
    }
  }

  void rung(const char* name, const std::function<void()>& launch) {
    context_.stream.fill(room_[1].data(), 0, count_);
    ladder_.climb(
        {.name = name,
         .shape = std::to_string(count_),
         .work = static_cast<double>(count_),
         .unit = WorkUnit::rows,
         .limit = kCopyLimit,
         .limit_work = 32.0 * static_cast<double>(count_)},
        [&](std::int64_t) { launch(); }, [&] { return compare(); });
  }

  std::string compare() const {
    std::vector<std::uint32_t> found(expected_.size());
    context_.stream.download(found.data(), room_[1].data(), count_);
    const auto [at, other] = std::mismatch(expected_.begin(), expected_.end(), found.begin());
    if (at == expected_.end()) return "";
    return joined("place ", at - expected_.begin(), ": expected ", *at, ", found ", *other);
  }

  Context& context_;
  std::int64_t count_;
  unsigned blocks_;
  Ladder ladder_;
  std::vector<std::uint32_t> expected_;
  Buffer<std::uint32_t> keys_, counts_, totals_;
  Buffer<std::uint32_t> room_[2];
};

}  // namespace

std::vector<Measurement> climb_sort(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) {
    if (shape.columns != 1 || shape.rows % kBlockKeys != 0 || shape.rows > (std::int64_t{1} << 30)) {
      throw Error(ExitCode::usage, joined("--shape ", shape.rows, "x", shape.columns,
                                          ": expected Nx1 with N a multiple of ", kBlockKeys, " up to 2^30"));
    }
    counts.push_back(shape.rows);
  }
  if (counts.empty()) counts.push_back(kNumbers);
  Context context(request.backend);
  std::vector<Measurement> found;
  for (const std::int64_t count : counts) Sorting(context, count, request, found).climb();
  return found;
}

}  // namespace kith::cuda
