// The kernels of row_join.cu: the choice of rows that need a group, and lists that are stored and merged.
#pragma once

#include <cstdint>

#include "core/communicator.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/device_lists.h"
#include "kernels/cuda/search/group_reach.h"

namespace kith::cuda {

inline __global__ void set_group_kernel(const std::int32_t* position, std::int64_t count, std::uint8_t group,
                                        std::uint8_t* group_of) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) group_of[position[i]] = group;
}

/// How the rows of a group are numbered among all rows.
struct GroupRows {
  const std::int32_t* position = nullptr;  // (rows of the group)
  std::int64_t first_row = 0;              // row number of position 0

  __device__ std::int64_t number(std::int64_t row) const { return row < 0 ? -1 : first_row + position[row]; }
};

/// Stores found lists (count, k) of rows of a group as those of the rows `chosen`.
inline __global__ void store_lists_kernel(DeviceLists found, std::int64_t count, std::int64_t k, GroupRows rows,
                                          const std::int32_t* chosen, DeviceLists lists) {
  for (std::int64_t i = thread_index(); i < count * k; i += thread_count()) {
    const std::int64_t to = chosen[i / k] * k + i % k;
    lists.distance[to] = found.distance[i];
    lists.index[to] = rows.number(found.index[i]);
  }
}

/// Merges found lists (count, k) of rows of a group into those of the rows `chosen`. Where none was found, the row
/// becomes a fallback row. merged: (count, k) lists.
inline __global__ void merge_found_kernel(DeviceLists found, std::int64_t count, std::int64_t k, GroupRows rows,
                                          const std::int32_t* chosen, DeviceLists merged, DeviceLists lists) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const std::int64_t own = chosen[i] * k, other = i * k;
    if (found.index[other] < 0) {
      lists.index[own] = -1;
      continue;
    }
    std::int64_t a = 0, b = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const double kept = lists.distance[own + a], added = found.distance[other + b];
      const std::int64_t kept_row = lists.index[own + a], added_row = rows.number(found.index[other + b]);
      const bool takes_kept = before(kept, kept_row, added, added_row);
      merged.distance[other + j] = takes_kept ? kept : added;
      merged.index[other + j] = takes_kept ? kept_row : added_row;
      takes_kept ? ++a : ++b;
    }
    for (std::int64_t j = 0; j < k; ++j) {
      lists.distance[own + j] = merged.distance[other + j];
      lists.index[own + j] = merged.index[other + j];
    }
  }
}

/// Which rows need a group that is not theirs.
template <class T>
struct Choice {
  const T* values = nullptr;  // (n, d) all rows
  std::int64_t d = 0;
  RowShare rows;                   // of which some are chosen
  const double* center = nullptr;  // (d) of the group
  GroupReach reach;
  double usual = 0.0, most = 0.0;  // D to the center of queries with the usual norm, and of those that fp16 can hold
  const std::uint8_t* group_of = nullptr;  // (n)
  std::uint8_t group = 0;
  DeviceLists lists;  // (n, k)
  std::int64_t k = 0;
};

/// usual, longer: the rows, in any order. counts: of both, and the bits of the largest D of the longer ones. Rows that
/// are too long become fallback rows.
template <class T>
__global__ void choose_rows_kernel(Choice<T> in, std::int32_t* usual, std::int32_t* longer, Word* counts) {
  for (std::int64_t i = warp_index(); i < in.rows.count; i += warp_count()) {
    const std::int64_t row = in.rows.first + i;
    if (in.group_of[row] == in.group || in.lists.index[row * in.k] < 0) continue;
    double sum = 0.0;
    for (std::int64_t j = lane_index(); j < in.d; j += kWarp) {
      const double difference = static_cast<double>(in.values[row * in.d + j]) - in.center[j];
      sum += difference * difference;
    }
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) sum += __shfl_xor_sync(kAllLanes, sum, w);
    if (lane_index() != 0) continue;
    const std::int64_t last = row * in.k + in.k - 1;
    const double reach =
        in.lists.index[last] < 0 ? __longlong_as_double(0x7FF0000000000000) : sqrt(in.lists.distance[last]);
    if (in.reach.is_beyond(sum, reach)) continue;
    if (sum <= in.usual) {
      usual[atomicAdd(&counts[0], Word{1})] = static_cast<std::int32_t>(row);
    } else if (sum <= in.most) {
      longer[atomicAdd(&counts[1], Word{1})] = static_cast<std::int32_t>(row);
      atomicMax(&counts[2], bits_of(sum));
    } else {
      in.lists.index[row * in.k] = -1;
    }
  }
}

}  // namespace kith::cuda
