// The rows with the largest distances: a radix selection by (distance descending, row ascending), then a sort of the
// selected rows on the host.
//
// Each pass reads the n distances and counts one byte of the key: 8 bytes of distance, and as many bytes of row number
// as n needs. The passes stop early if one byte separates the rows. 10^6 rows take at most 11 passes, each 2 us on an
// H200 plus the wait for its counts.
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

/// histogram[digit] += number of keys that equal `pattern` under `mask` and have this digit at `shift`.
__global__ void histogram_kernel(const double* distance, std::int64_t rows, Key mask, Key pattern, int shift,
                                 Word* histogram) {
  __shared__ unsigned counts[kDigits];
  for (int i = threadIdx.x; i < kDigits; i += kBlock) counts[i] = 0;
  __syncthreads();
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const Key key = key_of(distance[row], row);
    if ((key & mask) == pattern) atomicAdd(&counts[static_cast<int>(key >> shift) & (kDigits - 1)], 1U);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kDigits; i += kBlock) {
    if (counts[i] != 0) atomicAdd(&histogram[i], static_cast<Word>(counts[i]));
  }
}

__global__ void collect_kernel(const double* distance, const std::int32_t* label, std::int64_t rows, Key last,
                               FarRow* list, Word* count) {
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

/// The count-th smallest key, or a key between it and the next. 1 <= count <= rows
template <class T>
Key last_key(const HeldRows<T>& held, std::int64_t count) {
  Buffer<Word> histogram(held.pool(), kDigits);
  std::vector<Word> counts(kDigits);
  Key mask = 0, pattern = 0;
  auto rank = static_cast<Word>(count);
  for (int shift = 128 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const Key digit = static_cast<Key>(kDigits - 1) << shift;
    mask |= digit;
    if (shift < 64 && (held.rows() - 1) >> shift == 0) continue;  // no row number has this byte
    held.stream().fill(histogram.data(), 0, kDigits);
    histogram_kernel<<<held.context->grid(held.rows(), kBlock), kBlock, 0, held.stream()>>>(
        held.distance.data(), held.rows(), mask & ~digit, pattern, shift, histogram.data());
    check(cudaGetLastError());
    held.stream().download(counts.data(), histogram.data(), kDigits);
    int chosen = 0;
    for (; chosen < kDigits - 1 && counts[chosen] < rank; ++chosen) rank -= counts[chosen];
    pattern |= static_cast<Key>(chosen) << shift;
    if (counts[chosen] == rank) break;  // all keys of this digit are selected
  }
  return pattern | ~mask;
}

}  // namespace

template <class T>
std::vector<FarRow> farthest(const HeldRows<T>& held, std::int64_t count) {
  count = std::min(count, held.rows());
  if (count <= 0) return {};
  Buffer<FarRow> list(held.pool(), count);
  Buffer<Word> length(held.pool(), 1);
  held.stream().fill(length.data(), 0, 1);
  const Key last = last_key(held, count);
  collect_kernel<<<held.context->grid(held.rows(), kBlock), kBlock, 0, held.stream()>>>(
      held.distance.data(), held.label.data(), held.rows(), last, list.data(), length.data());
  check(cudaGetLastError());
  std::vector<FarRow> rows(count);
  held.stream().download(rows.data(), list.data(), count);
  for (FarRow& row : rows) row.row += held.first_row;
  std::sort(rows.begin(), rows.end(),
            [](const FarRow& a, const FarRow& b) { return std::tie(b.distance, a.row) < std::tie(a.distance, b.row); });
  return rows;
}

#define KITH_INSTANTIATE(T) template std::vector<FarRow> farthest(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
