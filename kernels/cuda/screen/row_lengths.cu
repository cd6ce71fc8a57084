// A histogram of the lengths of the rows, four bins per octave. Reads 8 bytes per row, once per data set.
#include "kernels/cuda/screen/row_lengths.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kBinsPerOctave = 4;
constexpr int kBinShift = 21;                 // drops all but two bits of the mantissa
constexpr int kBins = 1 << (31 - kBinShift);  // positive floats, infinity and NaN order like their bits

/// counts, residuals: (kBins) rows of each bin, and the bits of their largest residual; zero on entry.
__global__ void histogram_kernel(const float* norm, const float* residual, std::int64_t rows, unsigned* counts,
                                 unsigned* residuals) {
  __shared__ unsigned block_counts[kBins], block_residuals[kBins];
  for (int b = static_cast<int>(threadIdx.x); b < kBins; b += kBlock) block_counts[b] = block_residuals[b] = 0;
  __syncthreads();
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const unsigned bin = (__float_as_uint(norm[i]) & 0x7FFFFFFFU) >> kBinShift;
    atomicAdd(&block_counts[bin], 1U);
    atomicMax(&block_residuals[bin], __float_as_uint(residual[i]));
  }
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < kBins; b += kBlock) {
    if (block_counts[b] == 0) continue;
    atomicAdd(&counts[b], block_counts[b]);
    atomicMax(&residuals[b], block_residuals[b]);
  }
}

/// Lists the rows that are not up to `longest` long, in any order.
__global__ void longer_rows_kernel(const float* norm, std::int64_t rows, float longest, std::int32_t* listed,
                                   Word* count) {
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const bool longer = row < rows && !(norm[row] <= longest);
    const Word place = reserve_slot(longer, count);
    if (longer) listed[place] = static_cast<std::int32_t>(row);
  }
}

void list_longer_rows(const Context& context, Pool& pool, std::int64_t rows, std::int64_t count, Fp16Rows& fp16) {
  const Stream& stream = context.stream;
  const Buffer<Word> listed(pool, 1);
  fp16.longer_rows = Buffer<std::int32_t>(pool, count);
  stream.fill(listed.data(), 0, 1);
  longer_rows_kernel<<<context.grid(rows, kBlock), kBlock, 0, stream>>>(
      fp16.norm.data(), rows, static_cast<float>(fp16.screened.norm), fp16.longer_rows.data(), listed.data());
  check(cudaGetLastError());
  std::vector<std::int32_t>& on_host = fp16.longer_rows_on_host;
  on_host.resize(static_cast<std::size_t>(count));
  stream.download(on_host.data(), fp16.longer_rows.data(), count);
  std::sort(on_host.begin(), on_host.end());
  stream.upload(fp16.longer_rows.data(), on_host.data(), count);
}

}  // namespace

Buffer<unsigned> count_lengths(const Context& context, Pool& pool, std::int64_t rows, const Fp16Rows& fp16) {
  Buffer<unsigned> bins(pool, 2 * kBins);
  context.stream.fill(bins.data(), 0, 2 * kBins);
  histogram_kernel<<<context.grid(rows, kBlock * 4), kBlock, 0, context.stream>>>(
      fp16.norm.data(), fp16.residual.data(), rows, bins.data(), bins.data() + kBins);
  check(cudaGetLastError());
  return bins;
}

void limit_screened_lengths(const Context& context, Pool& pool, std::int64_t rows, const Buffer<unsigned>& bins,
                            Fp16Rows& fp16) {
  constexpr std::int64_t kFew = 64;          // at most one row in this many is longer than the lengths of the others
  constexpr int kWider = kBinsPerOctave;     // the limit is twice that length,
  constexpr int kMuch = 2 * kBinsPerOctave;  // if a row is longer than four times that length
  constexpr float kLeast = 0x1p-30F;         // of a limit; the widest column has about 2^8
  std::vector<unsigned> found(2 * kBins);
  context.stream.download(found.data(), bins.data(), 2 * kBins);

  // The first and the last length of a bin.
  const auto shortest_of = [](int bin) { return std::bit_cast<float>(static_cast<unsigned>(bin) << kBinShift); };
  const auto longest_of = [](int bin) {
    return std::bit_cast<float>(((static_cast<unsigned>(bin) + 1) << kBinShift) - 1);
  };
  int half = 0;
  for (std::int64_t rows_below = found[0]; half < kBins - 1 && rows_below < rows / 2; rows_below += found[half]) ++half;
  fp16.usual_norm = longest_of(half);
  int last = kBins - 1;  // of the bins that have rows
  while (last > 0 && found[last] == 0) --last;
  int typical = last;
  for (std::int64_t longer = found[typical]; typical > 0 && longer <= rows / kFew; longer += found[typical]) --typical;
  fp16.screened = {std::numeric_limits<double>::infinity(), 0.0};
  if (last <= typical + kMuch) return;
  const int limit = typical + kWider;
  const float longest = longest_of(limit);
  unsigned residual = 0;
  for (int b = 0; b <= limit; ++b) residual = std::max(residual, found[kBins + b]);
  if (longest < kLeast) return;
  fp16.screened = {static_cast<double>(longest), static_cast<double>(std::bit_cast<float>(residual))};
  fp16.shortest_longer = std::numeric_limits<double>::infinity();
  for (int b = limit + 1; b < kBins; ++b) {
    if (found[b] == 0) continue;
    // |x'| >= |x^| - |x' - x^|, where |x^| has been rounded up. What is not a number proves nothing.
    const double least = static_cast<double>(shortest_of(b)) * (1 - 0x1p-20) -
                         static_cast<double>(std::bit_cast<float>(found[kBins + b]));
    fp16.shortest_longer = std::min(fp16.shortest_longer, least > 0.0 ? least : 0.0);
  }
  list_longer_rows(context, pool, rows, std::accumulate(&found[limit + 1], &found[kBins], std::int64_t{0}), fp16);
}

}  // namespace kith::cuda
