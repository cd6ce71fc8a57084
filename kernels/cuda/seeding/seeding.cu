// Seeding: each row's minimum distance to the seeds so far, integer totals of these distances, random draws by them,
// and the total that each candidate would give. D. Arthur, S. Vassilvitskii: k-means++ (2007).
//
// Each seed costs a screening pass over all rows (seed_screen.cu), which proves for most pairs of a row and a candidate
// that the candidate is not nearer; float64 distances for the other pairs; and a pass over the minimum distances for
// their totals, 8 MB and a few microseconds for 10^6 rows. The host waits for the device four times per seed. Totals
// are integers, so that the order of addition does not affect them.
#include <algorithm>
#include <vector>

#include "core/numbers/fixed_point.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/seeding/seed_screen.h"

namespace kith::cuda {
namespace {

template <class T>
__global__ void update_min_distance_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* seed,
                                           double* min_distance, Word* largest) {
  Word largest_bits = 0;
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane_index();
    const double distance = distances_of_rows(values, base, rows, d, [&](int) { return seed; });
    if (row < rows) {
      const double smaller = distance < min_distance[row] ? distance : min_distance[row];
      min_distance[row] = smaller;
      largest_bits = max(largest_bits, bits_of(smaller));
    }
  }
  largest_bits = warp_max(largest_bits);
  if (lane_index() == 0) atomicMax(largest, largest_bits);
}

/// Calls visit(row, candidate, D), from one lane, for every bit that is set in both near[row] and `mask`. A warp takes
/// 32 rows at a time and computes four distances together.
template <class T, class Visit>
__device__ void for_near_pairs(const T* values, std::int64_t rows, std::int64_t d, const double* candidates,
                               const std::uint32_t* near, unsigned mask, const Visit& visit) {
  constexpr int kPairs = 4;
  constexpr int kPairLanes = kWarp / kPairs;
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    unsigned bits = base + lane_index() < rows ? near[base + lane_index()] & mask : 0U;  // of this lane's row
    unsigned owners = __ballot_sync(kAllLanes, bits != 0);                               // lanes with remaining bits
    while (owners != 0) {
      const T* x[kPairs];
      const double* c[kPairs];
      std::int64_t my_row = -1;
      int my_candidate = 0;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        if (owners == 0) {  // never for i = 0
          x[i] = x[0];
          c[i] = c[0];
          continue;
        }
        const int owner = __ffs(static_cast<int>(owners)) - 1;
        const unsigned remaining = __shfl_sync(kAllLanes, bits, owner);
        const int candidate = __ffs(static_cast<int>(remaining)) - 1;
        if (lane_index() == owner) bits &= bits - 1;
        if ((remaining & (remaining - 1)) == 0) owners &= owners - 1;
        x[i] = values + (base + owner) * d;
        c[i] = candidates + candidate * d;
        if (lane_index() / kPairLanes == i) {
          my_row = base + owner;
          my_candidate = candidate;
        }
      }
      double sum[kPairs];
      accumulate_pairs(x, c, d, sum);
      const double distance = add_lanes<kPairs>(sum);
      if (lane_index() % kPairLanes == 0 && my_row >= 0) visit(my_row, my_candidate, distance);
    }
  }
}

/// gains[t] += change of the total if candidate t became a seed (never positive).
template <class T>
__global__ void gain_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* candidates,
                            const std::uint32_t* near, FixedScale scale, RowWeights weights, const double* min_distance,
                            Word* gains) {
  __shared__ Word block_gains[kMostCandidates];
  if (threadIdx.x < kMostCandidates) block_gains[threadIdx.x] = 0;
  __syncthreads();
  for_near_pairs(values, rows, d, candidates, near, ~0U, [&](std::int64_t row, int candidate, double distance) {
    const double before = min_distance[row];
    if (!(distance < before)) return;
    const RowWeight weight = weights.of(row);
    const std::int64_t gain = weighted_fixed(distance, scale.first, scale.second, weight) -
                              weighted_fixed(before, scale.first, scale.second, weight);
    atomicAdd(&block_gains[candidate], static_cast<Word>(gain));
  });
  __syncthreads();
  if (threadIdx.x < kMostCandidates && block_gains[threadIdx.x] != 0) {
    atomicAdd(&gains[threadIdx.x], block_gains[threadIdx.x]);
  }
}

/// min_distance = min(min_distance, D to the chosen candidate).
template <class T>
__global__ void commit_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* candidates,
                              const std::uint32_t* near, int chosen, double* min_distance) {
  for_near_pairs(values, rows, d, candidates, near, 1U << chosen, [&](std::int64_t row, int, double distance) {
    if (distance < min_distance[row]) min_distance[row] = distance;
  });
}

struct GroupTotal {
  Word total;
  Word largest;  // bits of the largest minimum distance
};

/// One block per group of rows.
__global__ void group_kernel(const double* min_distance, std::int64_t rows, FixedScale scale, RowWeights weights,
                             GroupTotal* totals) {
  __shared__ Word block_largest;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * DistanceTotals::kGroup;
  const std::int64_t last = min(first + DistanceTotals::kGroup, rows);
  Word total = 0, largest = 0;
  for (std::int64_t i = first + threadIdx.x; i < last; i += kBlock) {
    const double distance = min_distance[i];
    total += static_cast<Word>(weighted_fixed(distance, scale.first, scale.second, weights.of(i)));
    largest = max(largest, bits_of(distance));
  }
  if (threadIdx.x == 0) block_largest = 0;
  total = block_sum(total);  // includes a barrier, so block_largest is initialised
  largest = warp_max(largest);
  if (lane_index() == 0) atomicMax(&block_largest, largest);
  __syncthreads();
  if (threadIdx.x == 0) totals[blockIdx.x] = {total, block_largest};
}

/// A draw from a group of rows: selects the first row whose inclusive prefix sum within the group exceeds target.
struct GroupDraw {
  std::int64_t first;
  std::int64_t target;
};

/// One block per draw; a thread sums a few neighbouring rows.
__global__ void draw_kernel(const double* min_distance, std::int64_t rows, FixedScale scale, RowWeights weights,
                            const GroupDraw* draws, std::int64_t* drawn) {
  constexpr int kThreadRows = DistanceTotals::kGroup / kBlock;
  static_assert(DistanceTotals::kGroup % kBlock == 0, "a block takes a whole group");
  const GroupDraw draw = draws[blockIdx.x];
  const std::int64_t first = draw.first + threadIdx.x * kThreadRows;
  Word inclusive[kThreadRows], sum = 0;
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) {
    if (first + i < rows) {
      sum +=
          static_cast<Word>(weighted_fixed(min_distance[first + i], scale.first, scale.second, weights.of(first + i)));
    }
    inclusive[i] = sum;
  }
  const Word before = block_prefix(sum).before;
  const auto target = static_cast<Word>(draw.target);
  if (before > target || before + sum <= target) return;  // all threads but one
  int offset = 0;
#pragma unroll
  for (int i = 0; i < kThreadRows; ++i) offset += before + inclusive[i] <= target;
  drawn[blockIdx.x] = first + offset;
}

/// Recomputes held.totals: the prefix sums of the groups' totals and the largest minimum distance.
template <class T>
void update_totals(const HeldRows<T>& held, FixedScale scale) {
  const std::int64_t groups = (held.rows() + DistanceTotals::kGroup - 1) / DistanceTotals::kGroup;
  Buffer<GroupTotal> on_device(held.pool(), groups);
  group_kernel<<<static_cast<unsigned>(groups), kBlock, 0, held.stream()>>>(held.distance.data(), held.rows(), scale,
                                                                            held.weights(0), on_device.data());
  check(cudaGetLastError());
  std::vector<GroupTotal> result(groups);
  held.stream().download(result.data(), on_device.data(), groups);
  DistanceTotals& totals = held.totals;
  totals.inclusive.resize(groups);
  std::int64_t running = 0;
  Word largest = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    totals.inclusive[g] = running += static_cast<std::int64_t>(result[g].total);
    largest = std::max(largest, result[g].largest);
  }
  totals.largest = std::bit_cast<double>(largest);
  totals.shift = scale.shift;
  totals.current = true;
}

template <class T>
const std::vector<std::int64_t>& inclusive_totals(const HeldRows<T>& held, FixedScale scale) {
  if (!held.totals.current || held.totals.shift != scale.shift) update_totals(held, scale);
  return held.totals.inclusive;
}

}  // namespace

template <class T>
double update_min_distance(HeldRows<T>& held, std::span<const double> seed) {
  const std::int64_t d = held.columns();
  Buffer<double> on_device(held.pool(), d);
  Buffer<Word> largest(held.pool(), 1);
  held.stream().upload(on_device.data(), seed.data(), d);
  held.stream().fill(largest.data(), 0, 1);
  held.totals.current = false;
  held.for_blocks([&](const Block<T>& block) {
    update_min_distance_kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
        held.on_device(block), block.rows, d, on_device.data(), held.distance.data() + block.first, largest.data());
    check(cudaGetLastError());
  });
  Word bits = 0;
  held.stream().download(&bits, largest.data(), 1);
  return std::bit_cast<double>(bits);
}

template <class T>
std::int64_t total_min_distance(const HeldRows<T>& held, FixedScale scale) {
  return inclusive_totals(held, scale).back();
}

template <class T>
void draw_rows(const HeldRows<T>& held, FixedScale scale, std::span<const std::int64_t> targets,
               std::span<std::int64_t> rows) {
  const std::vector<std::int64_t>& inclusive = inclusive_totals(held, scale);
  std::vector<GroupDraw> draws;
  for (const std::int64_t target : targets) {
    const auto group = std::upper_bound(inclusive.begin(), inclusive.end(), target) - inclusive.begin();
    if (group == std::ssize(inclusive)) {
      throw Error(ExitCode::internal, "draw target outside the total of the distances; expected 0 <= target < total");
    }
    draws.push_back({group * DistanceTotals::kGroup, target - (group > 0 ? inclusive[group - 1] : 0)});
  }
  Buffer<GroupDraw> on_device(held.pool(), std::ssize(draws));
  Buffer<std::int64_t> drawn(held.pool(), std::ssize(draws));
  held.stream().upload(on_device.data(), draws.data(), std::ssize(draws));
  draw_kernel<<<static_cast<unsigned>(draws.size()), kBlock, 0, held.stream()>>>(
      held.distance.data(), held.rows(), scale, held.weights(0), on_device.data(), drawn.data());
  check(cudaGetLastError());
  held.stream().download(rows.data(), drawn.data(), std::ssize(draws));
  for (std::int64_t& row : rows) row += held.first_row;
}

template <class T>
void try_candidates(HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                    std::span<std::int64_t> totals) {
  const std::int64_t before = total_min_distance(held, scale);
  SeedTrial& trial = held.trial;
  trial = {};
  trial.scale = scale;
  trial.candidates = Buffer<double>(held.pool(), candidates.size());
  trial.near = Buffer<std::uint32_t>(held.pool(), held.rows());
  Buffer<Word> gains(held.pool(), kMostCandidates);
  held.stream().upload(trial.candidates.data(), candidates.data, candidates.size());
  held.stream().fill(gains.data(), 0, kMostCandidates);
  const ScreenedCandidates screened = screen_candidates(held, candidates, trial.candidates.data());
  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    std::uint32_t* near = trial.near.data() + block.first;
    find_near(held, screened, block, values, near);
    gain_kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
        values, block.rows, held.columns(), trial.candidates.data(), near, scale, held.weights(block.first),
        held.distance.data() + block.first, gains.data());
    check(cudaGetLastError());
  });
  Word result[kMostCandidates];
  held.stream().download(result, gains.data(), kMostCandidates);
  for (std::int64_t t = 0; t < candidates.rows; ++t) totals[t] += before + static_cast<std::int64_t>(result[t]);
}

template <class T>
double commit_candidate(HeldRows<T>& held, std::int64_t chosen) {
  SeedTrial& trial = held.trial;
  held.totals.current = false;
  held.for_blocks([&](const Block<T>& block) {
    commit_kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
        held.on_device(block), block.rows, held.columns(), trial.candidates.data(), trial.near.data() + block.first,
        static_cast<int>(chosen), held.distance.data() + block.first);
    check(cudaGetLastError());
  });
  update_totals(held, trial.scale);
  trial = {};
  return held.totals.largest;
}

#define KITH_INSTANTIATE(T)                                                                                        \
  template double update_min_distance(HeldRows<T>&, std::span<const double>);                                      \
  template std::int64_t total_min_distance(const HeldRows<T>&, FixedScale);                                        \
  template void draw_rows(const HeldRows<T>&, FixedScale, std::span<const std::int64_t>, std::span<std::int64_t>); \
  template void try_candidates(HeldRows<T>&, MatrixView<const double>, FixedScale, std::span<std::int64_t>);       \
  template double commit_candidate(HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
