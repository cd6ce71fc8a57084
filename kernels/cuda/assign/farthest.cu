// The rows with the largest distances: a radix selection by (distance descending, row ascending), then a sort of the
// selected rows on the host.
//
// Each pass reads the n distances and counts one byte of the key: 8 bytes of distance, and as many bytes of row number
// as n needs. The last thread block to finish chooses the byte, so that the host waits once; passes after one that
// separates the rows do nothing. 10^6 rows take at most 11 passes, each 2 us on an H200 and its launch.
#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

using Key = unsigned __int128;  // orders rows by (distance descending, row ascending); all keys differ
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

__device__ Key key_of(double distance, std::int64_t row) {
  return static_cast<Key>(~bits_of(distance)) << 64 | static_cast<Key>(row);
}

/// The state of the selection on the device, zero at first except for the rank.
struct Selection {
  Key pattern;        // the bytes that are chosen
  Key last;           // the largest key with these bytes
  Word rank;          // of the wanted key among those with these bytes, from 1
  unsigned finished;  // thread blocks of the pass
  bool done;          // all keys with these bytes are selected
};

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
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const Key key = key_of(distance[row], row);
    if ((key & mask) == pattern) atomicAdd(&counts[static_cast<int>(key >> shift) & (kDigits - 1)], 1U);
  }
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

__global__ void collect_kernel(const double* distance, const std::int32_t* label, std::int64_t rows,
                               const Selection* selection, FarRow* list, Word* count) {
  const Key last = selection->last;
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const bool selected = row < rows && key_of(distance[row], row) <= last;
    const Word slot = reserve_slot(selected, count);
    if (selected) {
      list[slot].distance = distance[row];
      list[slot].row = row;
      list[slot].label = label[row];
    }
  }
}

/// Makes all choices of a selection. Queues only.
template <class T>
void choose_digits(const HeldRows<T>& held, Selection* selection) {
  const Stream& stream = held.stream();
  Buffer<Word> histogram(held.pool(), kDigits);
  stream.fill(histogram.data(), 0, kDigits);
  for (int shift = 128 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (shift < 64 && (held.rows() - 1) >> shift == 0) continue;  // no row number has this byte
    choose_digit_kernel<<<held.context->grid(held.rows(), kBlock), kBlock, 0, stream>>>(
        held.distance.data(), held.rows(), shift, selection, histogram.data());
    check(cudaGetLastError());
  }
}

}  // namespace

template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count) {
  count = std::min(count, held.rows());
  if (count <= 0) return {};
  const Stream& stream = held.stream();
  const Buffer<FarRow> list(held.pool(), count);
  const Buffer<Word> length(held.pool(), 1);
  const Buffer<Selection> selection(held.pool(), 1);
  const Selection nothing{0, 0, static_cast<Word>(count), 0, false};
  stream.upload(selection.data(), &nothing, 1);
  choose_digits(held, selection.data());
  stream.fill(length.data(), 0, 1);
  collect_kernel<<<held.context->grid(held.rows(), kBlock), kBlock, 0, stream>>>(
      held.distance.data(), held.label.data(), held.rows(), selection.data(), list.data(), length.data());
  check(cudaGetLastError());
  std::vector<FarRow> rows(count);
  stream.download(rows.data(), list.data(), count);
  for (FarRow& row : rows) row.row += held.first_row;
  std::sort(rows.begin(), rows.end(),
            [](const FarRow& a, const FarRow& b) { return std::tie(b.distance, a.row) < std::tie(a.distance, b.row); });
  return rows;
}

#define KITH_INSTANTIATE(T) template std::vector<FarRow> farthest(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
