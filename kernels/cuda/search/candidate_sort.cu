// CUB's segmented sort of (double, int32) pairs, which is stable: equal distances keep their ascending rows.
#include "kernels/cuda/search/candidate_sort.h"

#include <cub/device/device_segmented_sort.cuh>

namespace kith::cuda {

void sort_candidates(const Stream& stream, const CandidateSort& sort, std::byte* temporary, std::size_t& bytes) {
  check(cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, sort.distance, sort.sorted_distance, sort.row,
                                                  sort.sorted_row, sort.count, sort.queries, sort.offset,
                                                  sort.offset + 1, stream));
}

}  // namespace kith::cuda
