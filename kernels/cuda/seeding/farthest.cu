// The rows with the largest distances: a radix selection by (distance descending, row ascending), then a sort of the
// selected rows on the host.
//
// Each pass counts one byte of the keys: 8 bytes of distance, and as many bytes of row number as n needs. The last
// thread block to finish chooses the byte, so that the host waits once; passes after one that separates the rows do
// nothing. The first two passes read n distances, the others those of the rows that are selected or may be. If
// these are few, one thread block makes all choices.
#include "kernels/cuda/operations.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

using Key = unsigned __int128;  // orders rows by (distance descending, row ascending); all keys differ
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kNoRow = 0xFF;  // every byte of a FarRow that is not used: its row is negative

__device__ Key key_of(double distance, std::int64_t row) {
  return static_cast<Key>(~bits_of(distance)) << 64 | static_cast<Key>(row);
}

/// The state of the selection on the device.
struct Selection {
  Key pattern;        // the bytes that are chosen
  Key last;           // the largest key with these bytes
  Word rank;          // of the wanted key among those with these bytes, from 1
  unsigned finished;  // thread blocks of the pass
  bool done;          // all keys with these bytes are selected
};

/// The rows that passes over all distances left, in any order.
struct KeptList {
  std::int32_t* row = nullptr;  // (capacity); null: these passes are not over
  Word* length = nullptr;       // (1) of the list, which is complete if this is not above the capacity
  Word capacity = 0;

  __device__ bool is_complete() const { return row != nullptr && *length <= capacity; }
};

/// Distances, and the rows whose keys are not above Selection::last.
struct FarDistances {
  const double* distance;  // (rows)
  std::int64_t rows;
  KeptList kept;

  /// work(row, distance) for the kept rows, or for all if they are not known. The threads of the grid divide them.
  template <class Work>
  __device__ void for_each(const Work& work) const {
    if (kept.is_complete()) {
      const auto count = static_cast<std::int64_t>(*kept.length);
      for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
        const std::int32_t row = kept.row[i];
        work(std::int64_t{row}, distance[row]);
      }
      return;
    }
    constexpr int kTogether = 4;  // loads
    for (std::int64_t first = thread_index(); first < rows; first += thread_count() * kTogether) {
      double of_row[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) of_row[i] = distance[min(first + i * thread_count(), rows - 1)];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const std::int64_t row = first + i * thread_count();
        if (row < rows) work(row, of_row[i]);
      }
    }
  }
};

/// Starts a selection, and clears the histogram and the numbers of kept and of collected rows.
__global__ void start_kernel(const Word* wanted, std::int64_t most, Selection* selection, Word* histogram,
                             Word* lengths) {
  histogram[threadIdx.x] = 0;
  if (threadIdx.x != 0) return;
  const Word rank = min(*wanted, static_cast<Word>(most));
  *selection = {0, 0, rank, 0, rank == 0};
  lengths[0] = lengths[1] = 0;
}

/// Chooses the byte at `shift` of the wanted key. histogram: (kDigits) zero on entry and on return.
__global__ void __launch_bounds__(kBlock)
    choose_digit_kernel(FarDistances distances, int shift, Selection* selection, Word* histogram) {
  static_assert(kDigits == kBlock, "a thread has a digit");
  __shared__ unsigned counts[kDigits];
  __shared__ bool is_last;
  if (selection->done) return;
  const Key pattern = selection->pattern, below = (Key{1} << shift) - 1, mask = ~((Key{1} << shift << kDigitBits) - 1);
  counts[threadIdx.x] = 0;
  __syncthreads();
  distances.for_each([&](std::int64_t row, double distance) {
    const Key key = key_of(distance, row);
    if ((key & mask) == pattern) atomicAdd(&counts[static_cast<int>(key >> shift) & (kDigits - 1)], 1U);
  });
  __syncthreads();
  if (counts[threadIdx.x] != 0) atomicAdd(&histogram[threadIdx.x], static_cast<Word>(counts[threadIdx.x]));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&selection->finished, 1U) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  const Word count = atomicExch(&histogram[threadIdx.x], Word{0}), rank = selection->rank;
  const BlockPrefix<Word> prefix = block_prefix(count);
  if (prefix.before >= rank || prefix.before + count < rank) return;  // one thread goes on
  const Key chosen = pattern | static_cast<Key>(threadIdx.x) << shift;
  *selection = {chosen, chosen | below, rank - prefix.before, 0, prefix.before + count == rank};
}

/// Keeps the rows whose keys are not above the last one; counts those beyond the capacity, too.
__global__ void keep_kernel(FarDistances distances, const Selection* selection) {
  const Key last = selection->last;
  const KeptList kept = distances.kept;
  const std::int64_t padded = (distances.rows + kWarp - 1) / kWarp * kWarp;  // whole warps
  for (std::int64_t row = thread_index(); row < padded; row += thread_count()) {
    const bool keeps = row < distances.rows && key_of(distances.distance[row], row) <= last;
    const Word slot = reserve_slot(keeps, kept.length);
    if (keeps && slot < kept.capacity) kept.row[slot] = static_cast<std::int32_t>(row);
  }
}

constexpr int kFinishThreads = 1024, kFinishEach = 8;  // kept rows of a thread

/// Makes all choices from the byte at `shift` on if the kept rows are few. One thread block.
__global__ void __launch_bounds__(kFinishThreads)
    finish_kernel(FarDistances distances, int shift, Selection* selection) {
  __shared__ unsigned counts[kDigits];
  __shared__ Selection shared;
  const int thread = static_cast<int>(threadIdx.x), lane = lane_index();
  if (selection->done || !distances.kept.is_complete() || *distances.kept.length > kFinishThreads * kFinishEach) return;
  const int length = static_cast<int>(*distances.kept.length);
  Key key[kFinishEach];
#pragma unroll
  for (int i = 0; i < kFinishEach; ++i) {
    const int at = thread + i * kFinishThreads;
    const std::int32_t row = at < length ? distances.kept.row[at] : 0;
    key[i] = at < length ? key_of(distances.distance[row], row) : Key{0};
  }
  if (thread == 0) shared = *selection;
  __syncthreads();
  for (; shift >= 0 && !shared.done; shift -= kDigitBits) {
    const Key pattern = shared.pattern, mask = ~((Key{1} << shift << kDigitBits) - 1);
    if (thread < kDigits) counts[thread] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kFinishEach; ++i) {
      if (thread + i * kFinishThreads < length && (key[i] & mask) == pattern)
        atomicAdd(&counts[static_cast<int>(key[i] >> shift) & (kDigits - 1)], 1U);
    }
    __syncthreads();
    if (thread < kWarp) {
      constexpr int kEach = kDigits / kWarp;
      Word own = 0;
      for (int i = 0; i < kEach; ++i) own += counts[lane * kEach + i];
      Word before = own;
#pragma unroll
      for (int w = 1; w < kWarp; w *= 2) {
        const Word lower = __shfl_up_sync(kAllLanes, before, w);
        if (lane >= w) before += lower;
      }
      before -= own;
      const Word rank = shared.rank;
      __syncwarp();
      for (int i = 0; i < kEach; ++i) {
        const Word count = counts[lane * kEach + i];
        if (before < rank && before + count >= rank) {  // for one digit of one lane
          const Key chosen = pattern | static_cast<Key>(lane * kEach + i) << shift;
          shared = {chosen, chosen | ((Key{1} << shift) - 1), rank - before, 0, before + count == rank};
        }
        before += count;
      }
    }
    __syncthreads();
  }
  if (thread == 0) *selection = shared;
}

__global__ void collect_kernel(FarDistances distances, const std::int32_t* label, const Selection* selection,
                               FarRow* list, Word* count) {
  const Key last = selection->last;
  distances.for_each([&](std::int64_t row, double distance) {
    if (key_of(distance, row) > last) return;
    FarRow& selected = list[atomicAdd(count, Word{1})];
    selected.distance = distance;
    selected.row = row;
    selected.label = label[row];
  });
}

}  // namespace

template <class T>
std::vector<FarRow> farthest_rows(const HeldRows<T>& held, const Word* wanted, std::int64_t most) {
  constexpr std::int64_t kKeptShare = 8;          // of the rows, after passes over all of them
  constexpr int kPassesOverAll = 2, kBlocks = 4;  // of a multiprocessor
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows();
  const bool keeps = n <= INT32_MAX;
  const Buffer<FarRow> far(held.pool(), most);
  const Buffer<Selection> selection(held.pool(), 1);
  const Buffer<Word> histogram(held.pool(), kDigits), lengths(held.pool(), 2);  // of the kept and of the collected rows
  const Buffer<std::int32_t> kept(held.pool(), keeps ? most + n / kKeptShare : 0);
  FarDistances distances{held.distance.data(), n, {}};
  stream.fill(far.data(), kNoRow, most);
  start_kernel<<<1, kDigits, 0, stream>>>(wanted, most, selection.data(), histogram.data(), lengths.data());
  check(cudaGetLastError());
  const auto one_each = std::min(context.grid(n, kBlock), static_cast<unsigned>(context.multiprocessors));
  unsigned blocks = std::min(context.grid(n, kBlock), kBlocks * one_each);
  int passes = 0;
  for (int shift = 128 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (shift < 64 && (n - 1) >> shift == 0) continue;  // no row number has this byte
    if (keeps && passes == kPassesOverAll) {
      finish_kernel<<<1, kFinishThreads, 0, stream>>>(distances, shift, selection.data());
      check(cudaGetLastError());
    }
    choose_digit_kernel<<<blocks, kBlock, 0, stream>>>(distances, shift, selection.data(), histogram.data());
    check(cudaGetLastError());
    if (++passes != kPassesOverAll || !keeps) continue;
    distances.kept = {kept.data(), lengths.data(), static_cast<Word>(kept.size())};
    keep_kernel<<<blocks, kBlock, 0, stream>>>(distances, selection.data());
    check(cudaGetLastError());
    blocks = one_each;
  }
  collect_kernel<<<blocks, kBlock, 0, stream>>>(distances, held.label.data(), selection.data(), far.data(),
                                                lengths.data() + 1);
  check(cudaGetLastError());
  std::vector<FarRow> rows(static_cast<std::size_t>(most));
  stream.download(rows.data(), far.data(), most);
  std::erase_if(rows, [](const FarRow& row) { return row.row < 0; });
  for (FarRow& row : rows) row.row += held.first_row;
  std::sort(rows.begin(), rows.end(),
            [](const FarRow& a, const FarRow& b) { return std::tie(b.distance, a.row) < std::tie(a.distance, b.row); });
  return rows;
}

template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count) {
  count = std::min(count, held.rows());
  if (count <= 0) return {};
  const Buffer<Word> wanted(held.pool(), 1);
  const auto rank = static_cast<Word>(count);
  held.stream().upload(wanted.data(), &rank, 1);
  return farthest_rows(held, wanted.data(), count);
}

#define KITH_INSTANTIATE(T)                                                                  \
  template std::vector<FarRow> farthest_rows(const HeldRows<T>&, const Word*, std::int64_t); \
  template std::vector<FarRow> farthest(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
