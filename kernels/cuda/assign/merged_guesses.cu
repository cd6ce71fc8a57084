// Finds the guesses that share a list, a warp per centroid.
#include "kernels/cuda/assign/merged_guesses.h"

#include "kernels/cuda/assign/rows_by_guess.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

/// A warp per centroid: the lowest among itself and the centroids near it stands for it.
__global__ void standing_kernel(CentroidListsView lists, std::int64_t clusters, std::int32_t* standing) {
  for (std::int64_t c = warp_index(); c < clusters; c += warp_count()) {
    const ListedCentroid* list = lists.entries + c * lists.length;
    const float most = list[0].distance * kMergedDistance;
    auto lowest = static_cast<int>(c);
    for (std::int64_t first = 0; first < lists.length; first += kWarp) {
      const std::int64_t i = first + lane_index();
      const bool near = i < lists.length && !(list[i].distance > most);
      if (near) lowest = min(lowest, list[i].column);
      if (!__all_sync(kAllLanes, near)) break;
    }
    lowest = __reduce_min_sync(kAllLanes, lowest);
    if (lane_index() == 0) standing[c] = lowest;
  }
}

__global__ void merge_kernel(RowChoice rows, std::int64_t clusters, const std::int32_t* standing,
                             std::int32_t* nearest) {
  for (std::int64_t i = thread_index(); i < rows.count; i += thread_count()) {
    std::int32_t& guess = nearest[rows.position(i)];
    guess = standing[guess_of(guess, clusters)];
  }
}

}  // namespace

const std::int32_t* MergedGuesses::standing(const Context& context, const CentroidListsView& lists) {
  if (!known_) {
    standing_kernel<<<context.grid(clusters_, kBlockWarps), kBlock, 0, context.stream>>>(lists, clusters_,
                                                                                         standing_.data());
    check(cudaGetLastError());
    known_ = true;
  }
  return standing_.data();
}

void MergedGuesses::replace(const Context& context, const CentroidListsView& lists, const RowChoice& rows,
                            std::int32_t* label) {
  const std::int32_t* of_guess = standing(context, lists);
  merge_kernel<<<context.grid(rows.count, kBlock), kBlock, 0, context.stream>>>(rows, clusters_, of_guess, label);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
