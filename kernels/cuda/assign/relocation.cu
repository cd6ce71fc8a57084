// Measures all rows, selects the farthest, and relabels some of them; the host only chooses.
//
// Reads n d values and up to 12 times n distances: 10^6 x 128 float32 at least 0.16 ms on an H200.
#include "kernels/cuda/assign/relocation.h"

#include <algorithm>
#include <vector>

#include "core/cluster_update.h"
#include "kernels/cuda/assign/measure.h"
#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

/// distances_on_centroids() of core/cluster_update.h for points without weights, with the same bits: the squares of the
/// columns are added in their order. shift: (d). A warp per centroid.
__global__ void on_centroid_kernel(const double* centroids, std::int64_t clusters, std::int64_t d, const int* shift,
                                   int low_bits, double* on_centroid) {
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
    if (lane_index() == 0) on_centroid[c] = squares;
  }
}

/// Sets `found` to 1 if a row does not lie on its centroid.
__global__ void movable_kernel(const double* distance, const std::int32_t* label, std::int64_t rows,
                               const double* on_centroid, Word* found) {
  bool movable = false;
  for (std::int64_t row = thread_index(); row < rows; row += thread_count()) {
    movable = movable || distance[row] > on_centroid[label[row]];
  }
  if (__any_sync(kAllLanes, movable) && lane_index() == 0) *found = 1;
}

/// bound: of core/bounds.h; null: none.
__global__ void relabel_kernel(const Relabelling* chosen, std::int64_t count, std::int64_t first_row,
                               std::int32_t* label, float* bound) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const std::int64_t position = chosen[i].row - first_row;
    label[position] = chosen[i].label;
    if (bound != nullptr) bound[position] = 0.0F;
  }
}

}  // namespace

template <class T>
std::int64_t relocate(HeldRows<T>& held, const DeviceLloyd<T>& lloyd) {
  const Stream& stream = held.stream();
  const std::int64_t k = lloyd.clusters(), d = held.columns();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(k));
  RelocationRule rule{0, std::vector<double>(counts.size())};
  Buffer<double> on_centroid(held.pool(), k);
  on_centroid_kernel<<<held.context->grid(k, kBlockWarps), kBlock, 0, stream>>>(
      lloyd.centroids(), k, d, lloyd.mean_grid().shift, lloyd.mean_grid().low_bits, on_centroid.data());
  check(cudaGetLastError());
  stream.download(rule.on_centroid.data(), on_centroid.data(), k);
  stream.download(counts.data(), reinterpret_cast<const std::int64_t*>(lloyd.totals() + lloyd.limbs() * k * d), k);
  const std::int64_t empty = std::count(counts.begin(), counts.end(), 0);
  held.for_blocks([&](const Block<T>& block) { measure_distances(held, block, lloyd.centroids()); });
  const Buffer<Word> found(held.pool(), 1);
  stream.fill(found.data(), 0, 1);
  movable_kernel<<<held.context->grid(held.rows(), kBlock), kBlock, 0, stream>>>(
      held.distance.data(), held.label.data(), held.rows(), on_centroid.data(), found.data());
  check(cudaGetLastError());
  Word can_move = 0;
  stream.download(&can_move, found.data(), 1);
  if (can_move == 0) return 0;
  const std::vector<FarRow> far = farthest(held, far_rows(empty, k));
  const std::vector<Relabelling> chosen = choose_relocated(far, counts, rule);
  const std::int64_t moved = std::ssize(chosen);
  if (moved == 0) return 0;
  Buffer<Relabelling> on_device(held.pool(), moved);
  stream.upload(on_device.data(), chosen.data(), moved);
  relabel_kernel<<<held.context->grid(moved, kBlock), kBlock, 0, stream>>>(
      on_device.data(), moved, held.first_row, held.label.data(),
      held.bounds.clusters > 0 ? held.bounds.bound.data() : nullptr);
  check(cudaGetLastError());
  stream.wait();  // for the upload
  return moved;
}

#define KITH_INSTANTIATE(T) template std::int64_t relocate(HeldRows<T>&, const DeviceLloyd<T>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
