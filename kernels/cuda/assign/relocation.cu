// Measures all rows, selects the farthest, and relabels some of them; the host only chooses.
//
// Rows that are alone in their clusters, or at D = 0, cannot move, and are not selected. Of the others, twice as many
// as there are empty clusters suffice: a row that moves leaves at most one other alone in its cluster, which is passed
// over then. Reads n d values, and four times n distances.
#include "kernels/cuda/assign/iterate.h"

#include <algorithm>
#include <vector>

#include "core/kmeans/update.h"
#include "kernels/cuda/assign/measure.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

struct ClusterState {
  double on_centroid = 0.0;  // rows that are not farther lie on the centroid
  std::int64_t rows = 0;
};

/// distances_on_centroids() of core/kmeans/update.h for points without weights, with the same bits: the squares
/// of the columns are added in their order. shift: (d). A warp per centroid.
__global__ void cluster_kernel(const double* centroids, std::int64_t clusters, std::int64_t d, const int* shift,
                               int low_bits, const Word* counts, ClusterState* states) {
  for (std::int64_t c = warp_index(); c < clusters; c += warp_count()) {
    double squares = 0.0;
    for (std::int64_t first = 0; first < d; first += kWarp) {
      const std::int64_t j = first + lane_index();
      double square = 0.0;
      if (j < d) {
        const double error = ldexp(1.0, -(shift[j] + low_bits)) + 0x1p-51 * fabs(centroids[c * d + j]);
        square = error * error;
      }
#pragma unroll
      for (int lane = 0; lane < kWarp; ++lane) squares += __shfl_sync(kAllLanes, square, lane);
    }
    if (lane_index() == 0) states[c] = {squares, static_cast<std::int64_t>(counts[c])};
  }
}

/// What the selection of rows depends on.
struct Movable {
  Word most;    // rows that the choice may look at: two for each empty cluster
  Word rows;    // that are not alone in their clusters, at D > 0
  Word any;     // 1: one of them does not lie on its centroid
  Word wanted;  // rows to select
};

/// One thread block.
__global__ void count_empty_kernel(const ClusterState* states, std::int64_t clusters, Movable* movable) {
  Word empty = 0;
  for (std::int64_t c = threadIdx.x; c < clusters; c += kBlock) empty += states[c].rows == 0 ? 1 : 0;
  empty = block_sum(empty);
  if (threadIdx.x == 0) *movable = {2 * empty, 0, 0, 0};
}

/// Counts the rows that can move, and sets the distances of rows that are alone in their clusters to 0.
__global__ void movable_kernel(double* distance, const std::int32_t* label, std::int64_t rows,
                               const ClusterState* states, Movable* movable) {
  Word count = 0;
  bool any = false;
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    const ClusterState state = states[label[row]];
    const bool is_alone = state.rows == 1;
    const double of_row = distance[row];
    if (is_alone) distance[row] = 0.0;
    if (is_alone || !(of_row > 0.0)) continue;
    ++count;
    any = any || of_row > state.on_centroid;
  }
  count = block_sum(count);
  if (threadIdx.x == 0 && count != 0) atomicAdd(&movable->rows, count);
  if (__any_sync(kAllLanes, any) && lane_index() == 0) movable->any = 1;
}

__global__ void want_kernel(Movable* movable) {
  movable->wanted = movable->any != 0 ? min(movable->most, movable->rows) : 0;
}

__global__ void relabel_kernel(const Relabelling* chosen, std::int64_t count, std::int64_t first_row,
                               std::int32_t* label) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    label[chosen[i].row - first_row] = chosen[i].label;
  }
}

}  // namespace

template <class T>
std::int64_t relocate(HeldRows<T>& held, const DeviceLloyd<T>& lloyd) {
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t k = lloyd.clusters(), d = held.columns(), n = held.rows();
  const Word* counts_on_device = lloyd.totals() + lloyd.limbs() * k * d;
  const Buffer<ClusterState> states(held.pool(), k);
  const Buffer<Movable> movable(held.pool(), 1);
  cluster_kernel<<<context.grid(k, kBlockWarps), kBlock, 0, stream>>>(
      lloyd.centroids(), k, d, lloyd.mean_grid().shift, lloyd.mean_grid().low_bits, counts_on_device, states.data());
  check(cudaGetLastError());
  count_empty_kernel<<<1, kBlock, 0, stream>>>(states.data(), k, movable.data());
  check(cudaGetLastError());
  held.for_blocks([&](const Block<T>& block) { measure_distances(held, block, lloyd.centroids()); });
  movable_kernel<<<context.grid(n, kBlock), kBlock, 0, stream>>>(held.distance.data(), held.label.data(), n,
                                                                 states.data(), movable.data());
  check(cudaGetLastError());
  want_kernel<<<1, 1, 0, stream>>>(movable.data());
  check(cudaGetLastError());
  const std::vector<FarRow> far = farthest_rows(held, &movable.data()->wanted, std::min(2 * k, n));
  if (far.empty()) return 0;
  std::vector<ClusterState> clusters(static_cast<std::size_t>(k));
  stream.download(clusters.data(), states.data(), k);
  std::vector<std::int64_t> counts;
  RelocationRule rule{0, {}};
  for (const ClusterState& state : clusters) {
    counts.push_back(state.rows);
    rule.on_centroid.push_back(state.on_centroid);
  }
  const std::vector<Relabelling> chosen = choose_relocated(far, counts, rule);
  const std::int64_t moved = std::ssize(chosen);
  if (moved == 0) return 0;
  Buffer<Relabelling> on_device(held.pool(), moved);
  stream.upload(on_device.data(), chosen.data(), moved);
  relabel_kernel<<<held.context->grid(moved, kBlock), kBlock, 0, stream>>>(on_device.data(), moved, held.first_row,
                                                                           held.label.data());
  check(cudaGetLastError());
  return moved;
}

#define KITH_INSTANTIATE(T) template std::int64_t relocate(HeldRows<T>&, const DeviceLloyd<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
