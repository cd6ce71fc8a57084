// The second step of the half-precision screen against many centroids: rows whose nearest centroid is known to be in a
// group of 32 are brought together by group and multiplied with its columns alone.
#pragma once

#include <cstdint>

#include "kernels/cuda/half_columns.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/recheck.h"

namespace kith::cuda {

/// Device memory of the step, for blocks of up to `rows` rows against `columns` centroids.
struct GroupRoom {
  static constexpr std::int64_t kBinRows = 128;  // rows of one group that are multiplied together

  GroupRoom() = default;
  GroupRoom(Pool& pool, std::int64_t rows, std::int64_t columns);

  std::int64_t groups = 0;
  Buffer<std::int32_t> group;  // (rows) of each row, -1: none
  Buffer<float> limit;         // (rows) columns with higher scores are not the nearest
  Buffer<std::int32_t> order;  // (bins, kBinRows) rows by group, -1 where there is none
  Buffer<unsigned> sizes;      // (groups) rows
  Buffer<unsigned> first_bin;  // (groups + 1)
  Buffer<unsigned> filled;     // (groups)
};

/// Rows of a block whose group and limit are in the room: nearest[row] = the group's only column within the row's
/// limit; rows with several are added to `undecided`. Queues only.
template <class T>
void nearest_in_groups(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                       const GroupRoom& room, std::int32_t* nearest, const Undecided& undecided);

}  // namespace kith::cuda
