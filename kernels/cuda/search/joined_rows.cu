// Rows are copied as chunks of 16 bytes, in the order of a list or at a stride; a radix sort orders them by reach.
#include "kernels/cuda/search/joined_rows.h"

#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {
namespace {

/// Copies chunks of 16 bytes, and what is added to the rows' scores.
__global__ void choose_kernel(const uint4* from, const float* from_base, Fp16Layout shape, RowChoice rows,
                              std::int64_t padded, uint4* to, float* to_base) {
  const std::int64_t chunks = std::int64_t{shape.depth_tiles} * kRowChunks;
  for (std::int64_t i = thread_index(); i < padded * chunks; i += thread_count()) {
    const std::int64_t place = i / chunks;
    const bool exists = place < rows.count;
    const std::int64_t row = exists ? rows.row(place) : 0;
    const int depth_tile = static_cast<int>(i % chunks / kRowChunks), chunk = static_cast<int>(i % kRowChunks);
    to[shape.place(place, depth_tile, chunk)] = exists ? from[shape.place(row, depth_tile, chunk)] : uint4{};
    if (depth_tile == 0 && chunk == 0) {
      to_base[base_place_of_row(place)] = exists ? from_base[base_place_of_row(row)] : QuantizationGrid::kNever;
    }
  }
}

/// How far a row sees, in the scores of all others: its limit and what is added to its own. slack: what rounding may
/// take from that.
__global__ void reach_kernel(const float* limit, const float* base, std::int64_t rows, float slack, float* reach,
                             std::int32_t* row) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const bool certain = limit[i] >= 0;
    reach[i] = certain ? __fadd_ru(__fadd_ru(limit[i], base[base_place_of_row(i)]), slack)
                       : -std::numeric_limits<float>::infinity();
    row[i] = static_cast<std::int32_t>(i);
  }
}

/// Of rows in the order of their reaches: limits, limits in the order of base_place_of_row, and the largest reach of
/// each group. A thread takes a group.
__global__ void order_kernel(const float* limit, const float* reach, const std::int32_t* row, std::int64_t rows,
                             std::int64_t groups, float* ordered_limit, float* column_limit, float* group_reach) {
  for (std::int64_t group = thread_index(); group < groups; group += thread_count()) {
    const std::int64_t tile = group / kQuarters, quarter = group % kQuarters;
    float largest = -std::numeric_limits<float>::infinity();
    for (int number = 0; number < kGroupColumns; ++number) {
      const std::int64_t i = tile * kFp16Columns + number / 2 * 8 + quarter * 2 + number % 2;
      const float most = i < rows ? limit[row[i]] : -1.0F;
      column_limit[base_place_of_row(i)] = most;
      if (i >= rows) continue;
      ordered_limit[i] = most;
      largest = fmaxf(largest, reach[i]);
    }
    group_reach[group] = largest;
  }
}

}  // namespace

template <class T>
CopiedRows copy_rows(const HeldRows<T>& held, const SearchBase<T>& base, const RowChoice& rows) {
  const Fp16Layout shape = column_shape(held.columns());
  CopiedRows copied;
  copied.count = rows.count;
  const std::int64_t padded = row_groups_of(rows.count) * kFp16Columns;
  copied.tiles = Buffer<uint4>(held.pool(), padded * shape.depth_tiles * kRowChunks);
  copied.score_base = Buffer<float>(held.pool(), padded + kFp16Columns);  // a tile ahead
  choose_kernel<<<held.context->grid(copied.tiles.size(), kBlock), kBlock, 0, held.stream()>>>(
      base.tiles, base.score_base, shape, rows, padded, copied.tiles.data(), copied.score_base.data());
  check(cudaGetLastError());
  held.stream().fill(copied.score_base.data() + padded, 0, kFp16Columns);
  return copied;
}

template <class T>
OrderedRows order_by_reach(const HeldRows<T>& held, const SearchBase<T>& base, const float* limit) {
  // Four roundings of numbers below 4 scale, one of them of a limit that was compared with a rounded score.
  const float slack = base.bound.grid.scale * 0x1p-19F;
  const std::int64_t n = base.rows, groups = base.tiles() * kQuarters;
  const Context& context = *held.context;
  Pool& pool = held.pool();
  const Buffer<float> reach(pool, n), ordered_reach(pool, n);
  const Buffer<std::int32_t> row(pool, n);
  OrderedRows ordered{.rows = {},
                      .row = Buffer<std::int32_t>(pool, n),
                      .limit = Buffer<float>(pool, n),
                      .column_limit = Buffer<float>(pool, base.tiles() * kFp16Columns),
                      .group_reach = Buffer<float>(pool, groups)};
  reach_kernel<<<context.grid(n, kBlock), kBlock, 0, context.stream>>>(limit, base.score_base, n, slack, reach.data(),
                                                                       row.data());
  check(cudaGetLastError());
  std::size_t bytes = 0;  // of temporary memory, which the first call only asks for
  const auto sort = [&](void* temporary) {
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, reach.data(), ordered_reach.data(), row.data(),
                                          ordered.row.data(), n, 0, 32, context.stream));
  };
  sort(nullptr);
  const Buffer<std::byte> temporary(pool, static_cast<std::int64_t>(bytes));
  sort(temporary.data());
  ordered.rows = copy_rows(held, base, {.chosen = ordered.row.data(), .count = n});
  order_kernel<<<context.grid(groups, kBlock), kBlock, 0, context.stream>>>(
      limit, ordered_reach.data(), ordered.row.data(), n, groups, ordered.limit.data(), ordered.column_limit.data(),
      ordered.group_reach.data());
  check(cudaGetLastError());
  return ordered;
}

#define KITH_INSTANTIATE(T)                                                                  \
  template CopiedRows copy_rows(const HeldRows<T>&, const SearchBase<T>&, const RowChoice&); \
  template OrderedRows order_by_reach(const HeldRows<T>&, const SearchBase<T>&, const float*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
