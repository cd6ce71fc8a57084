// The distance of every row to the centroid of its label by the definition, and the inertia as integers.
//
// Reads n d values, and 12 bytes of state per row (20 with weights); at least 0.12 ms for 10^6 x 128 float32 on an
// H200. It runs only at the end of a run and before a relocation.
#include "kernels/cuda/assign/measure.h"

#include <vector>

#include "core/numbers/fixed_point.h"
#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/operations.h"

namespace kith::cuda {
namespace {

/// Inertia sums, in several copies so that rows of one cluster do not contend for one address.
struct Tally {
  Word* slots = nullptr;  // (copies, clusters, 2): high limb, low limb
  std::int64_t clusters = 0;
  std::int64_t copies = 1;

  static constexpr std::int64_t kSlots = 65536;  // over all copies
  static std::int64_t copies_for(std::int64_t clusters) { return std::clamp<std::int64_t>(kSlots / clusters, 1, 256); }
  __host__ __device__ std::int64_t copy_size() const { return clusters * 2; }
  __device__ Word* slot(std::int64_t cluster) const {
    return slots + (blockIdx.x % copies) * copy_size() + cluster * 2;
  }
};

__global__ void add_copies_kernel(Tally tally) {
  for (std::int64_t i = thread_index(); i < tally.copy_size(); i += thread_count()) {
    Word sum = 0;
    for (std::int64_t c = 0; c < tally.copies; ++c) sum += tally.slots[c * tally.copy_size() + i];
    tally.slots[i] = sum;
  }
}

/// A warp processes 32 rows and a lane keeps the result of one, so the state is read and written in whole cache lines.
/// Rows of up to kColumns columns are measured by a lane each; 0: by all lanes together.
template <class T, int kColumns>
__global__ void measure_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* centroids,
                               InertiaGrid grid, RowWeights weights, const std::int32_t* labels, double* distances,
                               Tally tally) {
  const int lane = lane_index();
  for (std::int64_t base = warp_index() * kWarp; base < rows; base += warp_count() * kWarp) {
    const std::int64_t row = base + lane;
    const std::int32_t label = row < rows ? labels[row] : 0;
    double distance = 0.0;
    if constexpr (kColumns > 0) {
      const T* x = values + min(row, rows - 1) * d;
      distance = distance_of_few_columns<kColumns>(x, centroids + static_cast<std::int64_t>(label) * d, d);
    } else {
      distance = distances_of_rows(values, base, rows, d, [&](int i) {
        return centroids + static_cast<std::int64_t>(__shfl_sync(kAllLanes, label, i)) * d;
      });
    }
    if (row >= rows) continue;
    distances[row] = distance;
    if (tally.slots == nullptr) continue;
    const Limbs limbs = weighted_limbs(distance, grid.first, grid.second, grid.low_scale, weights.of(row));
    Word* slot = tally.slot(label);
    atomicAdd(&slot[0], static_cast<Word>(limbs.high));
    atomicAdd(&slot[1], static_cast<Word>(limbs.low));
  }
}

template <class T>
void measure_block(HeldRows<T>& held, const Block<T>& block, const double* centroids, const InertiaGrid& grid,
                   const Tally& tally) {
  held.totals.current = false;
  const auto kernel = held.columns() <= 4    ? measure_kernel<T, 4>
                      : held.columns() <= 16 ? measure_kernel<T, 16>
                                             : measure_kernel<T, 0>;
  kernel<<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
      held.on_device(block), block.rows, held.columns(), centroids, grid, held.weights(block.first),
      held.label.data() + block.first, held.distance.data() + block.first, tally);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
Measurement<T>::Measurement(const HeldRows<T>& held, const MeasureRequest& request)
    : centroids_(held.pool(), request.centroids.size()),
      tally_(held.pool(), Tally::copies_for(request.centroids.rows) * request.centroids.rows * 2),
      clusters_(request.centroids.rows),
      grid_{request.inertia.first, request.inertia.second, power_of_two(request.inertia_bits)} {
  held.stream().upload(centroids_.data(), request.centroids.data, request.centroids.size());
  forget(held);
}

template <class T>
void Measurement<T>::forget(const HeldRows<T>& held) const {
  held.stream().fill(tally_.data(), 0, tally_.size());
}

template <class T>
void Measurement<T>::add(HeldRows<T>& held, const Block<T>& block) const {
  measure_block(held, block, centroids_.data(), grid_, Tally{tally_.data(), clusters_, Tally::copies_for(clusters_)});
}

template <class T>
void Measurement<T>::add_to(const HeldRows<T>& held, std::span<Limbs> inertia) const {
  const Tally tally{tally_.data(), clusters_, Tally::copies_for(clusters_)};
  add_copies_kernel<<<held.context->grid(tally.copy_size(), kBlock), kBlock, 0, held.stream()>>>(tally);
  check(cudaGetLastError());
  std::vector<Word> sums(static_cast<std::size_t>(tally.copy_size()));
  held.stream().download(sums.data(), tally_.data(), tally.copy_size());
  for (std::int64_t c = 0; c < clusters_; ++c) {
    inertia[c].high += static_cast<std::int64_t>(sums[2 * c]);
    inertia[c].low += static_cast<std::int64_t>(sums[2 * c + 1]);
  }
}

template <class T>
void measure(HeldRows<T>& held, const MeasureRequest& request, std::span<Limbs> inertia) {
  const Measurement<T> measurement(held, request);
  held.for_blocks([&](const Block<T>& block) { measurement.add(held, block); });
  measurement.add_to(held, inertia);
}

template <class T>
void measure_distances(HeldRows<T>& held, const Block<T>& block, const double* centroids) {
  measure_block(held, block, centroids, {}, {});
}

#define KITH_INSTANTIATE(T)                                                      \
  template class Measurement<T>;                                                 \
  template void measure_distances(HeldRows<T>&, const Block<T>&, const double*); \
  template void measure(HeldRows<T>&, const MeasureRequest&, std::span<Limbs>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
