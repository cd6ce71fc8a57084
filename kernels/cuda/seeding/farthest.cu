// The rows with the largest distances: a radix selection by (distance descending, row ascending), then a sort of the
// selected rows on the host.
//
// Each pass counts one byte of the keys: 8 bytes of distance, and as many bytes of row number as n needs. The last
// thread block to finish chooses the byte, so that the host waits once; passes after one that separates the rows do
// nothing. A pass reads n distances: 0.002 ms for 10^6 rows on an H200.
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

/// Calls work(row, distance) for all rows. The threads of the grid divide them.
template <class Work>
__device__ void for_distances(const double* distance, std::int64_t rows, const Work& work) {
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

/// Starts a selection, and clears the histogram and the number of collected rows.
__global__ void start_kernel(const Word* wanted, std::int64_t most, Selection* selection, Word* histogram,
                             Word* collected) {
  histogram[threadIdx.x] = 0;
  if (threadIdx.x != 0) return;
  const Word rank = min(*wanted, static_cast<Word>(most));
  *selection = {0, 0, rank, 0, rank == 0};
  *collected = 0;
}

/// Chooses the byte at `shift` of the wanted key. histogram: (kDigits) zero on entry and on return.
__global__ void __launch_bounds__(kBlock)
    choose_digit_kernel(const double* distance, std::int64_t rows, int shift, Selection* selection, Word* histogram) {
  static_assert(kDigits == kBlock, "a thread has a digit");
  __shared__ unsigned counts[kDigits];
  __shared__ bool is_last;
  if (selection->done) return;
  const Key pattern = selection->pattern, below = (Key{1} << shift) - 1, mask = ~((Key{1} << shift << kDigitBits) - 1);
  counts[threadIdx.x] = 0;
  __syncthreads();
  for_distances(distance, rows, [&](std::int64_t row, double of_row) {
    const Key key = key_of(of_row, row);
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

__global__ void collect_kernel(const double* distance, std::int64_t rows, const std::int32_t* label,
                               const Selection* selection, FarRow* list, Word* count) {
  const Key last = selection->last;
  for_distances(distance, rows, [&](std::int64_t row, double of_row) {
    if (key_of(of_row, row) > last) return;
    FarRow& selected = list[atomicAdd(count, Word{1})];
    selected.distance = of_row;
    selected.row = row;
    selected.label = label[row];
  });
}

}  // namespace

template <class T>
std::vector<FarRow> farthest_rows(const HeldRows<T>& held, const Word* wanted, std::int64_t most) {
  constexpr std::int64_t kBlocks = 4;  // of a multiprocessor
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows();
  const Buffer<FarRow> far(held.pool(), most);
  const Buffer<Selection> selection(held.pool(), 1);
  const Buffer<Word> histogram(held.pool(), kDigits), collected(held.pool(), 1);
  stream.fill(far.data(), kNoRow, most);
  start_kernel<<<1, kDigits, 0, stream>>>(wanted, most, selection.data(), histogram.data(), collected.data());
  check(cudaGetLastError());
  const auto blocks =
      std::min(held.context->grid(n, kBlock), static_cast<unsigned>(kBlocks * held.context->multiprocessors));
  for (int shift = 128 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (shift < 64 && (n - 1) >> shift == 0) continue;  // no row number has this byte
    choose_digit_kernel<<<blocks, kBlock, 0, stream>>>(held.distance.data(), n, shift, selection.data(),
                                                       histogram.data());
    check(cudaGetLastError());
  }
  collect_kernel<<<blocks, kBlock, 0, stream>>>(held.distance.data(), n, held.label.data(), selection.data(),
                                                far.data(), collected.data());
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
