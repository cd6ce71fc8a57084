// A list of neighbours in the registers of a warp.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

/// A list in the registers of a warp, ordered by before(): entry i is in slot i / 32 of lane i % 32.
template <int kSlots>
struct WarpList {
  double distance[kSlots];
  std::int64_t index[kSlots];

  __device__ void load(const DeviceLists& lists, std::int64_t q, std::int64_t neighbors) {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      const std::int64_t i = s * kWarp + lane_index();
      distance[s] = i < neighbors ? lists.distance[q * neighbors + i] : std::numeric_limits<double>::infinity();
      index[s] = i < neighbors ? lists.index[q * neighbors + i] : -1;
    }
  }
  __device__ void store(const DeviceLists& lists, std::int64_t q, std::int64_t neighbors) const {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      const std::int64_t i = s * kWarp + lane_index();
      if (i >= neighbors) continue;
      lists.distance[q * neighbors + i] = distance[s];
      lists.index[q * neighbors + i] = index[s];
    }
  }
  /// Inserts a row and drops the last entry. Called by all lanes with the same row.
  __device__ void insert(double new_distance, std::int64_t new_index) {
#pragma unroll
    for (int s = kSlots - 1; s >= 0; --s) {
      // The entry before: that of the lane below, for lane 0 the last of the slot before.
      double previous_distance = __shfl_up_sync(kAllLanes, distance[s], 1);
      std::int64_t previous_index = __shfl_up_sync(kAllLanes, index[s], 1);
      if (s > 0) {
        const double last_distance = __shfl_sync(kAllLanes, distance[s > 0 ? s - 1 : 0], kWarp - 1);
        const std::int64_t last_index = __shfl_sync(kAllLanes, index[s > 0 ? s - 1 : 0], kWarp - 1);
        if (lane_index() == 0) previous_distance = last_distance, previous_index = last_index;
      }
      const bool has_previous = s > 0 || lane_index() > 0;
      const bool changes = before(new_distance, new_index, distance[s], index[s]);
      const bool shifts = has_previous && before(new_distance, new_index, previous_distance, previous_index);
      if (changes) {
        distance[s] = shifts ? previous_distance : new_distance;
        index[s] = shifts ? previous_index : new_index;
      }
    }
  }
  /// Entry i, in every lane.
  __device__ void get(std::int64_t i, double& entry_distance, std::int64_t& entry_index) const {
#pragma unroll
    for (int s = 0; s < kSlots; ++s) {
      if (i / kWarp != s) continue;
      entry_distance = __shfl_sync(kAllLanes, distance[s], static_cast<int>(i % kWarp));
      entry_index = __shfl_sync(kAllLanes, index[s], static_cast<int>(i % kWarp));
    }
  }
};

/// The list of a query during its search.
template <int kSlots>
struct NearestRows {
  WarpList<kSlots> list;
  std::int64_t neighbors = 0;
  double last_distance = 0.0;  // the last entry
  std::int64_t last_index = 0;

  __device__ void load(const DeviceLists& lists, std::int64_t q, std::int64_t length) {
    neighbors = length;
    list.load(lists, q, neighbors);
    list.get(neighbors - 1, last_distance, last_index);
  }
  /// Inserts the row of each lane that exists and belongs into the list.
  __device__ void offer(bool exists, double distance, std::int64_t index) {
    for (unsigned lanes = kAllLanes;;) {
      lanes &= __ballot_sync(kAllLanes, exists && before(distance, index, last_distance, last_index));
      if (lanes == 0) return;
      const int lane = __ffs(static_cast<int>(lanes)) - 1;
      list.insert(__shfl_sync(kAllLanes, distance, lane), __shfl_sync(kAllLanes, index, lane));
      list.get(neighbors - 1, last_distance, last_index);
      lanes &= lanes - 1;
    }
  }
};

}  // namespace kith::cuda
