// Counts the candidates of a sample of rows. Without lists of the centroids, a block measures a row's guess against all
// of them, and the guess that stands for it: 256 rows of 128 columns and 1024 centroids took 0.11 ms on an H100, which
// reads the centroids from its L2 cache. In a list, a warp finds the number by bisection.

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/kmeans/bounds.h"
#include "kernels/cuda/assign/centroid_lists.h"
#include "kernels/cuda/assign/near_labels.h"
#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

constexpr int kColumns = 4;  // measured by a warp at a time

template <class T>
struct SampleTask {
  const T* values;  // (rows of the block, d)
  std::int64_t d;
  RowChoice rows;
  const std::int32_t* nearest;  // (rows of the block)
  const double* centroids;      // (clusters, d)
  std::int64_t clusters;
  double unit;
  float* distance = nullptr;  // (blocks, clusters) of the guess; null: there are lists

  __device__ std::int64_t row(std::int64_t i, std::int64_t count) const {
    return rows.position(i * (rows.count / count));
  }
};

/// What is known of a row of the sample.
struct SampledRow {
  std::int32_t candidates, guess;                // of the guess
  std::int32_t merged_candidates, merged_guess;  // of the guess that stands for it
};

/// The distance of a row from a centroid.
template <class T>
__device__ double distance_of(const SampleTask<T>& task, std::int64_t row, std::int32_t centroid) {
  const T* x[1] = {task.values + row * task.d};
  const double* c[1] = {task.centroids + centroid * task.d};
  double sum[1];
  accumulate_grid(x, c, task.d, sum);
  return add_lanes<1>(sum);
}

/// The centroids that the triangle inequality leaves to a row with this guess. distance: (clusters) out.
template <class T>
__device__ Word candidates_near(const SampleTask<T>& task, std::int64_t row, std::int32_t guess, float* distance) {
  const double own = distance_of(task, row, guess);
  const float reach = candidate_reach(distance_above(own, task.unit), own, task.unit);
  Word near = 0;
  for (std::int64_t first = threadIdx.x / kWarp * kColumns; first < task.clusters; first += kBlockWarps * kColumns) {
    const double* from[1] = {task.centroids + guess * task.d};
    const double* to[kColumns];
#pragma unroll
    for (int s = 0; s < kColumns; ++s) to[s] = task.centroids + min(first + s, task.clusters - 1) * task.d;
    double sums[kColumns];
    accumulate_grid(from, to, task.d, sums);
    const double between = add_lanes<kColumns>(sums);
    const std::int64_t column = first + lane_index() / (kWarp / kColumns);
    if (lane_index() % (kWarp / kColumns) != 0 || column >= task.clusters) continue;
    distance[column] = distance_below(between, task.unit);
    if (!(distance[column] > reach)) ++near;
  }
  return block_sum(near);
}

/// A block per sampled row. Merges guesses by the rule of standing_kernel in centroid_lists.cu.
template <class T>
__global__ void sample_kernel(SampleTask<T> task, SampledRow* sampled) {
  __shared__ unsigned nearest_bits;
  __shared__ int lowest;
  const std::int64_t row = task.row(blockIdx.x, gridDim.x);
  const std::int32_t guess = guess_of(task.nearest[row], task.clusters);
  float* const distance = task.distance + blockIdx.x * task.clusters;
  if (threadIdx.x == 0) {
    nearest_bits = __float_as_uint(std::numeric_limits<float>::infinity());
    lowest = guess;
  }
  const Word candidates = candidates_near(task, row, guess, distance);
  __syncthreads();
  for (std::int64_t c = threadIdx.x; c < task.clusters; c += blockDim.x) {
    if (c != guess) atomicMin(&nearest_bits, __float_as_uint(distance[c]));
  }
  __syncthreads();
  const float most = __uint_as_float(nearest_bits) * kMergedDistance;
  for (std::int64_t c = threadIdx.x; c < task.clusters; c += blockDim.x) {
    if (!(distance[c] > most)) atomicMin(&lowest, static_cast<int>(c));
  }
  __syncthreads();
  const std::int32_t merged = lowest;
  const Word merged_candidates = merged == guess ? candidates : candidates_near(task, row, merged, distance);
  if (threadIdx.x != 0) return;
  sampled[blockIdx.x] = {static_cast<std::int32_t>(candidates), guess, static_cast<std::int32_t>(merged_candidates),
                         merged};
}

/// The same from the list of the guess; all centroids if it is too short.
template <class T>
__device__ std::int32_t listed_candidates(const SampleTask<T>& task, std::int64_t row, std::int32_t guess,
                                          const CentroidListsView& lists) {
  const double own = distance_of(task, row, guess);
  const float reach = candidate_reach(distance_above(own, task.unit), own, task.unit);
  const ListedCentroid* list = lists.entries + guess * lists.length;
  std::int64_t low = 0, high = lists.length;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (list[middle].distance > reach) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<std::int32_t>(low == lists.length ? task.clusters : low + 1);
}

/// A warp per sampled row.
template <class T>
__global__ void listed_sample_kernel(SampleTask<T> task, CentroidListsView lists, const std::int32_t* standing,
                                     std::int64_t count, SampledRow* sampled) {
  const std::int64_t i = warp_index();
  if (i >= count) return;
  const std::int64_t row = task.row(i, count);
  const std::int32_t guess = guess_of(task.nearest[row], task.clusters), merged = standing[guess];
  const std::int32_t own = listed_candidates(task, row, guess, lists);
  const std::int32_t of_merged = merged == guess ? own : listed_candidates(task, row, merged, lists);
  if (lane_index() == 0) sampled[i] = {own, guess, of_merged, merged};
}

/// Summarizes a sample. candidates, guess: of each row; both are sorted. The guesses that the sample lacks are
/// estimated from those that it has once (I. Good: The population frequencies of species, 1953).
Candidates summarized(std::vector<std::int32_t> candidates, std::vector<std::int32_t>& guess, std::int64_t clusters) {
  constexpr double kUsual = 0.9;
  std::sort(candidates.begin(), candidates.end());
  std::sort(guess.begin(), guess.end());
  const auto count = static_cast<double>(candidates.size());
  double different = 0.0, once = 0.0;
  for (auto first = guess.begin(); first != guess.end();) {
    const auto last = std::upper_bound(first, guess.end(), *first);
    different += 1.0;
    if (last - first == 1) once += 1.0;
    first = last;
  }
  return {std::accumulate(candidates.begin(), candidates.end(), 0.0) / count,
          candidates[static_cast<std::size_t>(kUsual * (count - 1))],
          different + once / count * (static_cast<double>(clusters) - different), std::move(candidates)};
}

/// Downloads and summarizes a sample.
CandidateSample download_sample(const Stream& stream, const Buffer<SampledRow>& sampled, std::int64_t clusters) {
  std::vector<SampledRow> downloaded(static_cast<std::size_t>(sampled.size()));
  stream.download(downloaded.data(), sampled.data(), sampled.size());
  std::vector<std::int32_t> candidates, guess, merged_candidates, merged_guess;
  for (const SampledRow& row : downloaded) {
    candidates.push_back(row.candidates);
    guess.push_back(row.guess);
    merged_candidates.push_back(row.merged_candidates);
    merged_guess.push_back(row.merged_guess);
  }
  return {summarized(std::move(candidates), guess, clusters),
          summarized(std::move(merged_candidates), merged_guess, clusters)};
}

}  // namespace

template <class T>
CandidateSample sample_candidates(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                                  const std::int32_t* nearest, const double* centroids, std::int64_t clusters) {
  const Buffer<SampledRow> sampled(held.pool(), std::min(kSampledRows, rows.count));
  const Buffer<float> distance(held.pool(), sampled.size() * clusters);
  sample_kernel<<<static_cast<unsigned>(sampled.size()), kBlock, 0, held.stream()>>>(
      SampleTask<T>{values, held.columns(), rows, nearest, centroids, clusters, distance_unit(held), distance.data()},
      sampled.data());
  check(cudaGetLastError());
  return download_sample(held.stream(), sampled, clusters);
}

template <class T>
CandidateSample sample_listed(const HeldRows<T>& held, const T* values, const RowChoice& rows,
                              const std::int32_t* nearest, const double* centroids, std::int64_t clusters,
                              const CentroidListsView& lists, const std::int32_t* standing) {
  constexpr std::int64_t kSample = 256;
  const Buffer<SampledRow> sampled(held.pool(), std::min(kSample, rows.count));
  listed_sample_kernel<<<held.context->grid(sampled.size(), kBlockWarps), kBlock, 0, held.stream()>>>(
      SampleTask<T>{values, held.columns(), rows, nearest, centroids, clusters, distance_unit(held)}, lists, standing,
      sampled.size(), sampled.data());
  check(cudaGetLastError());
  return download_sample(held.stream(), sampled, clusters);
}

#define KITH_INSTANTIATE(T)                                                                                       \
  template CandidateSample sample_candidates(const HeldRows<T>&, const T*, const RowChoice&, const std::int32_t*, \
                                             const double*, std::int64_t);                                        \
  template CandidateSample sample_listed(const HeldRows<T>&, const T*, const RowChoice&, const std::int32_t*,     \
                                         const double*, std::int64_t, const CentroidListsView&, const std::int32_t*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
