// Iterations of a small problem in one kernel that stays on the device, with every distance by the definition. Sums,
// centroids and stop tests are on the device too: an iteration waits twice for the whole grid, and never for the host.
//
// 10^4 x 64 points and 10 centroids are 6.4 million products, 1 us of an H200's float64 units. Each block keeps all
// centroids, and the contributions of its rows to the sums, in shared memory. Rows of few columns: a thread has a row
// in registers; an iteration reads n d values and 4 bytes of label per row. Wider rows: a warp has 4 rows and 4
// centroids, and its lanes are the definition's accumulators.
// small_iterate_floats.cu and small_iterate_bytes.cu instantiate the templates, which take long to compile.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>
#include <limits>

#include "core/runtime/clock.h"
#include "kernels/cuda/assign/small_problem.h"

namespace kith::cuda {

inline constexpr double kLaunchWork = 1e10;                // n k d of a launch: at most some ten milliseconds
inline constexpr std::int64_t kMostLaunchIterations = 64;  // of a launch

/// Loads the centroids into shared memory, and clears the contributions.
template <class T>
__device__ void begin_small_iteration(const SmallTask<T>& task, const SmallShared& shared, int limbs) {
  load_centroids(task, task.centroids, shared.pitch, shared.centroids);
  for (int i = threadIdx.x; i < limbs * shared.cells; i += kBlock) shared.low[i] = shared.high[i] = 0;
  for (int c = threadIdx.x; c < task.clusters; c += kBlock) shared.counts[c] = 0;
  __syncthreads();
}

/// Adds the block's contributions to the totals of all blocks.
template <class T>
__device__ void flush_contributions(const SmallTask<T>& task, const SmallShared& shared, Word changed, int iteration) {
  const ClusterTotals& totals = task.totals;
  changed = block_sum(changed);  // its barrier also completes the contributions of the block
  if (changed == 0) return;
  if (threadIdx.x == 0) atomicAdd(&totals.changed[iteration], changed);
  for (int i = threadIdx.x; i < shared.cells; i += kBlock) {
    if (const Word high = shared.sum(i); high != 0) atomicAdd(&totals.high[i], high);
    if (totals.low == nullptr) continue;
    if (const Word low = shared.sum(shared.cells + i); low != 0) atomicAdd(&totals.low[i], low);
  }
  for (int c = threadIdx.x; c < task.clusters; c += kBlock) {
    if (shared.counts[c] != 0) atomicAdd(&totals.counts[c], static_cast<Word>(std::int64_t{shared.counts[c]}));
  }
}

/// The record of an iteration and whether to stop, the same in every thread of every block.
template <class T>
__device__ Stop finish_small_iteration(const SmallTask<T>& task, const SmallShared& shared, int iteration) {
  __shared__ Stop stop;
  for (int c = threadIdx.x; c < task.clusters; c += kBlock) {
    shared.shift[c] = task.shift[c];
    shared.between[c] = task.between[c];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double shift = 0.0, between = 0.0;
    for (int c = 0; c < task.clusters; ++c) {
      shift = __dadd_rn(shift, shared.shift[c]);
      between = __dadd_rn(between, shared.between[c]);
    }
    IterationRecord record;
    record.changed = static_cast<std::int64_t>(task.totals.changed[iteration]);
    record.shift = shift;
    record.inertia = remaining_objective(task.spread, between);
    stop = task.stop.test(task.iterations + iteration + 1, record);
    if (blockIdx.x == 0) task.records[iteration] = record;
  }
  __syncthreads();
  return stop;
}

template <class T, class Form>
__global__ void __launch_bounds__(kBlock) small_kernel(SmallTask<T> task) {
  extern __shared__ double memory[];
  const auto grid = cooperative_groups::this_grid();
  const int limbs = task.means.low_bits != 0 ? 2 : 1, d = static_cast<int>(task.d);
  const SmallShared shared(memory, task.clusters, d, Form::kPitch != 0 ? Form::kPitch : d, limbs);
  Outcome outcome{0, false, false};
  Stop stop = Stop::none;
  for (int i = 0; i < task.most && stop == Stop::none; ++i) {
    begin_small_iteration(task, shared, limbs);
    flush_contributions(task, shared, Form::assign(task, shared), i);
    grid.sync();
    bool empty = false;
    for (int c = threadIdx.x; c < task.clusters; c += kBlock) empty = empty || task.totals.counts[c] == 0;
    outcome.unfinished = __syncthreads_or(empty ? 1 : 0) != 0;
    if (outcome.unfinished) break;  // the same in all blocks
    for (std::int64_t c = warp_index(); c < task.clusters; c += warp_count()) {
      double* centroid = task.centroids + c * task.d;
      const ClusterChange change = update_centroid(
          task.means, static_cast<std::int64_t>(task.totals.counts[c]), task.d,
          [&](std::int64_t j) { return sum_at(task.totals, c * task.d + j); }, centroid,
          [&](std::int64_t j, double value) { centroid[j] = value; });
      if (lane_index() != 0) continue;
      task.shift[c] = change.shift;
      task.between[c] = change.between;
      if (change.altered) atomicAdd(&task.altered[i], Word{1});
    }
    grid.sync();
    stop = finish_small_iteration(task, shared, i);
    outcome.iterations = i + 1;
    outcome.converged = task.altered[i] == 0;
  }
  if (thread_index() == 0) *task.outcome = outcome;
}

/// The kernel for a problem, and its shape.
template <class T>
struct SmallLaunch {
  void (*kernel)(SmallTask<T>);
  std::int64_t rows;  // that a block processes at a time
};

template <class T>
bool fits_small_kernel(const HeldRows<T>& held, std::int64_t clusters, int limbs) {
  const std::int64_t d = held.columns();
  return is_cheaper_unscreened(held, clusters) &&
         SmallShared::bytes(clusters, d, small_pitch<T>(d), limbs) <= small_shared_bytes(*held.context) &&
         device_attribute(*held.context, cudaDevAttrCooperativeLaunch) != 0;
}

template <class T>
IterateResult iterate_small(HeldRows<T>& held, const IterateRequest& request, const DeviceLloyd<T>& lloyd,
                            LloydState& state) {
  const auto begin = Clock::now();
  const std::int64_t k = lloyd.clusters(), d = held.columns();
  const Stream& stream = held.stream();
  const auto launch = with_row_form<T>(d, []<class Form>(std::type_identity<Form>) {
    return SmallLaunch<T>{small_kernel<T, Form>, Form::kRows};
  });
  const auto affordable = static_cast<std::int64_t>(kLaunchWork / small_work(held.rows(), k, d));
  const std::int64_t most = std::clamp<std::int64_t>(affordable, 1, kMostLaunchIterations);
  Buffer<Word> counters(held.pool(), 2 * most);  // rows changed and clusters altered per iteration
  Buffer<double> parts(held.pool(), 2 * k);
  Buffer<IterationRecord> records(held.pool(), most);
  Buffer<Outcome> outcome(held.pool(), 1);
  stream.fill(counters.data(), 0, 2 * most);

  SmallTask<T> task{{held.resident.data(), held.rows(), d, static_cast<int>(k), held.label.data(), held.summed.data()},
                    lloyd.centroids(),
                    lloyd.grid(held),
                    lloyd.totals(counters.data()),
                    lloyd.mean_grid(),
                    counters.data() + most,
                    parts.data(),
                    parts.data() + k,
                    records.data(),
                    outcome.data(),
                    request.stop,
                    request.iterations,
                    static_cast<int>(most),
                    request.spread};
  const auto shared = static_cast<int>(SmallShared::bytes(k, d, small_pitch<T>(d), lloyd.limbs()));
  check(cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  int resident = 0;  // blocks per multiprocessor; all blocks of a cooperative grid must be resident
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, launch.kernel, kBlock, shared));
  const std::int64_t needed = (held.rows() + launch.rows - 1) / launch.rows;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(needed, 1, std::int64_t{resident} * held.context->multiprocessors);
  void* arguments[] = {&task};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(launch.kernel), dim3(static_cast<unsigned>(blocks)),
                                    dim3(kBlock), arguments, shared, stream));

  Outcome reached;
  stream.download(&reached, outcome.data(), 1);
  IterateResult result;
  result.records.resize(reached.iterations);
  result.converged = reached.converged;
  if (reached.iterations > 0) stream.download(result.records.data(), records.data(), reached.iterations);
  lloyd.store(held, state);
  if (reached.unfinished) {
    Word changed = 0;
    stream.download(&changed, counters.data() + reached.iterations, 1);
    result.unfinished.emplace(k);
    result.unfinished->counts = state.counts;
    result.unfinished->changed = static_cast<std::int64_t>(changed);
  }
  const double share = seconds_since(begin) / static_cast<double>(reached.iterations + (reached.unfinished ? 1 : 0));
  for (IterationRecord& record : result.records) record.seconds = share;
  return result;
}

}  // namespace kith::cuda
