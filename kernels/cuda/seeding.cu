// Seeding: lowers the kept distances to a new seed, totals what candidates would leave, and draws rows by distance.
//
// Each pass over the points moves n d values once, 0.11 ms for 10^6 x 128 float32 on an H200; eight candidates share
// one pass, and cost 2 n d float64 operations each: 0.06 ms at 34 TFLOP/s. Totals are integers, so any order gives the
// same. D. Arthur, S. Vassilvitskii: k-means++ (2007).
#include <algorithm>
#include <vector>

#include "core/fixed_point.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

template <class T>
__global__ void lower_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* seed, double* kept,
                             Word* largest) {
  Word largest_bits = 0;
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const double distance = distances_of_rows(values, base, rows, d, [&](int) { return seed; });
    if (row < rows) {
      const double lower = distance < kept[row] ? distance : kept[row];
      kept[row] = lower;
      largest_bits = max(largest_bits, bits_of(lower));
    }
  }
  largest_bits = warp_max(largest_bits);
  if (lane_index() == 0) atomicMax(largest, largest_bits);
}

constexpr int kTrials = 8;     // candidates per pass
constexpr int kTrialRows = 2;  // rows of a warp at a time

/// A warp has 2 x 8 distances at a time, two lanes each; a lane's row and candidate stay the same throughout.
template <class T>
__global__ void trial_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* candidates, int count,
                             FixedScale scale, const double* kept, Word* totals) {
  constexpr int kLanesEach = kWarp / (kTrials * kTrialRows);
  const int trial = lane_index() / kLanesEach % kTrials;
  const int row_of_lane = lane_index() / kLanesEach / kTrials;
  __shared__ Word block_totals[kTrials];
  if (threadIdx.x < kTrials) block_totals[threadIdx.x] = 0;
  __syncthreads();

  const double* c[kTrials];
#pragma unroll
  for (int s = 0; s < kTrials; ++s) c[s] = candidates + min(s, count - 1) * d;
  Word total = 0;
  for (std::int64_t base = warp_index() * kTrialRows; base < rows; base += warp_count() * kTrialRows) {
    const T* x[kTrialRows];
#pragma unroll
    for (int r = 0; r < kTrialRows; ++r) x[r] = values + (base + r < rows ? base + r : rows - 1) * d;
    double sum[kTrialRows * kTrials];
    accumulate_grid(x, c, d, sum);
    const double distance = add_lanes<kTrialRows * kTrials>(sum);
    const std::int64_t row = base + row_of_lane;
    if (lane_index() % kLanesEach == 0 && row < rows) {
      const double left = distance < kept[row] ? distance : kept[row];
      total += static_cast<Word>(to_fixed(left, scale.first, scale.second));
    }
  }
  if (total != 0) atomicAdd(&block_totals[trial], total);
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < count && block_totals[threadIdx.x] != 0) {
    atomicAdd(&totals[threadIdx.x], block_totals[threadIdx.x]);
  }
}

/// One block per group of rows.
__global__ void group_total_kernel(const double* kept, std::int64_t rows, FixedScale scale, Word* totals) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * DistanceTotals::kGroup;
  const std::int64_t last = min(first + DistanceTotals::kGroup, rows);
  Word total = 0;
  for (std::int64_t i = first + threadIdx.x; i < last; i += kBlock) {
    total += static_cast<Word>(to_fixed(kept[i], scale.first, scale.second));
  }
  total = block_sum(total);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

/// Prefix sums of the groups, computed once for all draws between two seeds.
template <class T>
const std::vector<std::int64_t>& inclusive_totals(const HeldRows<T>& held, FixedScale scale) {
  DistanceTotals& totals = held.totals;
  if (totals.current && totals.shift == scale.shift) return totals.inclusive;
  const std::int64_t groups = (held.rows() + DistanceTotals::kGroup - 1) / DistanceTotals::kGroup;
  Buffer<Word> sums(held.pool(), groups);
  group_total_kernel<<<static_cast<unsigned>(groups), kBlock, 0, held.stream()>>>(held.distance.data(), held.rows(),
                                                                                  scale, sums.data());
  check(cudaGetLastError());
  std::vector<Word> found(groups);
  held.stream().download(found.data(), sums.data(), groups);
  totals.inclusive.resize(groups);
  std::int64_t running = 0;
  for (std::int64_t g = 0; g < groups; ++g) totals.inclusive[g] = running += static_cast<std::int64_t>(found[g]);
  totals.shift = scale.shift;
  totals.current = true;
  return totals.inclusive;
}

}  // namespace

template <class T>
double lower(HeldRows<T>& held, std::span<const double> seed) {
  const std::int64_t d = held.columns();
  Buffer<double> on_device(held.pool(), d);
  Buffer<Word> largest(held.pool(), 1);
  held.stream().upload(on_device.data(), seed.data(), d);
  held.stream().fill(largest.data(), 0, 1);
  held.totals.current = false;
  held.for_blocks([&](const Block<T>& block) {
    lower_kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
        held.on_device(block), block.rows, d, on_device.data(), held.distance.data() + block.first, largest.data());
    check(cudaGetLastError());
  });
  Word bits = 0;
  held.stream().download(&bits, largest.data(), 1);
  return std::bit_cast<double>(bits);
}

template <class T>
void add_trial_totals(const HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                      std::span<std::int64_t> totals) {
  const std::int64_t d = held.columns();
  Buffer<double> on_device(held.pool(), candidates.size());
  Buffer<Word> sums(held.pool(), candidates.rows);
  held.stream().upload(on_device.data(), candidates.data, candidates.size());
  held.stream().fill(sums.data(), 0, candidates.rows);
  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    for (std::int64_t first = 0; first < candidates.rows; first += kTrials) {
      const int count = static_cast<int>(std::min<std::int64_t>(kTrials, candidates.rows - first));
      trial_kernel<<<held.context->grid(block.rows, kBlockWarps * kTrialRows), kBlock, 0, held.stream()>>>(
          values, block.rows, d, on_device.data() + first * d, count, scale, held.distance.data() + block.first,
          sums.data() + first);
      check(cudaGetLastError());
    }
  });
  std::vector<Word> found(candidates.rows);
  held.stream().download(found.data(), sums.data(), candidates.rows);
  for (std::int64_t t = 0; t < candidates.rows; ++t) totals[t] += static_cast<std::int64_t>(found[t]);
}

template <class T>
std::int64_t total(const HeldRows<T>& held, FixedScale scale) {
  return inclusive_totals(held, scale).back();
}

template <class T>
std::int64_t draw(const HeldRows<T>& held, FixedScale scale, std::int64_t target) {
  const std::vector<std::int64_t>& inclusive = inclusive_totals(held, scale);
  const auto group = std::upper_bound(inclusive.begin(), inclusive.end(), target) - inclusive.begin();
  const std::int64_t first = group * DistanceTotals::kGroup;
  if (first >= held.rows()) {
    throw Error(ExitCode::internal, "a row was drawn beyond the total of the distances; expected 0 <= target < total");
  }
  std::vector<double> kept(std::min(DistanceTotals::kGroup, held.rows() - first));
  held.stream().download(kept.data(), held.distance.data() + first, static_cast<std::int64_t>(kept.size()));
  std::int64_t prefix = group > 0 ? inclusive[group - 1] : 0;
  std::size_t i = 0;
  while ((prefix += to_fixed(kept[i], scale.first, scale.second)) <= target) ++i;
  return held.first_row + first + static_cast<std::int64_t>(i);
}

template double lower(HeldRows<float>&, std::span<const double>);
template double lower(HeldRows<double>&, std::span<const double>);
template void add_trial_totals(const HeldRows<float>&, MatrixView<const double>, FixedScale, std::span<std::int64_t>);
template void add_trial_totals(const HeldRows<double>&, MatrixView<const double>, FixedScale, std::span<std::int64_t>);
template std::int64_t total(const HeldRows<float>&, FixedScale);
template std::int64_t total(const HeldRows<double>&, FixedScale);
template std::int64_t draw(const HeldRows<float>&, FixedScale, std::int64_t);
template std::int64_t draw(const HeldRows<double>&, FixedScale, std::int64_t);

}  // namespace kith::cuda
