// Copies rows in 16-byte chunks, in a given order or at a stride, and orders rows by threshold with a radix sort.
#include "kernels/cuda/search/join_operands.h"

#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

/// Copies the rows' chunks and score bases, and fills the padding.
__global__ void copy_kernel(const uint4* from, const float* from_base, Fp16Layout shape, RowSubset rows,
                            std::int64_t padded, uint4* to, float* to_base) {
  const std::int64_t chunks = std::int64_t{shape.depth_tiles} * kRowChunks;
  for (std::int64_t i = thread_index(); i < padded * chunks; i += thread_count()) {
    const std::int64_t to_row = i / chunks;
    const bool exists = to_row < rows.count;
    const std::int64_t row = exists ? rows.row(to_row) : 0;
    const int depth_tile = static_cast<int>(i % chunks / kRowChunks), chunk = static_cast<int>(i % kRowChunks);
    to[shape.place(to_row, depth_tile, chunk)] = exists ? from[shape.place(row, depth_tile, chunk)] : uint4{};
    if (depth_tile == 0 && chunk == 0) {
      to_base[base_place_of_row(to_row)] = exists ? from_base[base_place_of_row(row)] : QuantizationGrid::kNever;
    }
  }
}

/// threshold[i] = limit[i] + score base of row i, rounded up. slack: a bound of the rounding errors of the comparison.
__global__ void threshold_kernel(const float* limit, const float* base, std::int64_t rows, float slack,
                                 float* threshold, std::int32_t* row) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const bool certain = limit[i] >= 0;
    threshold[i] = certain ? __fadd_ru(__fadd_ru(limit[i], base[base_place_of_row(i)]), slack)
                           : -std::numeric_limits<float>::infinity();
    row[i] = static_cast<std::int32_t>(i);
  }
}

/// For rows in the order of their thresholds: limits, limits in the order of base_place_of_row, and the largest
/// threshold of each group. One group per thread.
__global__ void order_kernel(const float* limit, const float* threshold, const std::int32_t* row, std::int64_t rows,
                             std::int64_t groups, float* ordered_limit, float* column_limit, float* group_threshold) {
  for (std::int64_t group = thread_index(); group < groups; group += thread_count()) {
    const std::int64_t tile = group / kQuarters, quarter = group % kQuarters;
    float largest = -std::numeric_limits<float>::infinity();
    for (int number = 0; number < kGroupColumns; ++number) {
      const std::int64_t i = tile * kFp16Columns + number / 2 * 8 + quarter * 2 + number % 2;
      const float row_limit = i < rows ? limit[row[i]] : -1.0F;
      column_limit[base_place_of_row(i)] = row_limit;
      if (i >= rows) continue;
      ordered_limit[i] = row_limit;
      largest = fmaxf(largest, threshold[i]);
    }
    group_threshold[group] = largest;
  }
}

}  // namespace

template <class T>
CopiedRows copy_rows(const HeldRows<T>& held, const SearchBase<T>& base, const RowSubset& rows) {
  const Fp16Layout shape = column_shape(held.columns());
  CopiedRows copied;
  copied.count = rows.count;
  const std::int64_t padded = row_groups_of(rows.count) * kFp16Columns;
  copied.tiles = Buffer<uint4>(held.pool(), padded * shape.depth_tiles * kRowChunks);
  copied.score_base = Buffer<float>(held.pool(), padded + kFp16Columns);  // a tile of padding for the prefetch
  copy_kernel<<<held.context->grid(copied.tiles.size(), kBlock), kBlock, 0, held.stream()>>>(
      base.tiles, base.score_base, shape, rows, padded, copied.tiles.data(), copied.score_base.data());
  check(cudaGetLastError());
  held.stream().fill(copied.score_base.data() + padded, 0, kFp16Columns);
  return copied;
}

template <class T>
OrderedRows order_by_threshold(const HeldRows<T>& held, const SearchBase<T>& base, const float* limit) {
  // Bounds four roundings of numbers below 4 scale, one of which is that of a limit compared with a rounded score.
  const float slack = base.bound.grid.scale * 0x1p-19F;
  const std::int64_t n = base.rows, groups = base.tile_count() * kQuarters;
  const Context& context = *held.context;
  Pool& pool = held.pool();
  const Buffer<float> threshold(pool, n), ordered_threshold(pool, n);
  const Buffer<std::int32_t> row(pool, n);
  OrderedRows ordered{.rows = {},
                      .row = Buffer<std::int32_t>(pool, n),
                      .limit = Buffer<float>(pool, n),
                      .column_limit = Buffer<float>(pool, base.tile_count() * kFp16Columns),
                      .group_threshold = Buffer<float>(pool, groups)};
  threshold_kernel<<<context.grid(n, kBlock), kBlock, 0, context.stream>>>(limit, base.score_base, n, slack,
                                                                           threshold.data(), row.data());
  check(cudaGetLastError());
  std::size_t bytes = 0;  // of temporary memory; the first call only sets it
  const auto sort = [&](void* temporary) {
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, threshold.data(), ordered_threshold.data(), row.data(),
                                          ordered.row.data(), n, 0, 32, context.stream));
  };
  sort(nullptr);
  const Buffer<std::byte> temporary(pool, static_cast<std::int64_t>(bytes));
  sort(temporary.data());
  ordered.rows = copy_rows(held, base, {.chosen = ordered.row.data(), .count = n});
  order_kernel<<<context.grid(groups, kBlock), kBlock, 0, context.stream>>>(
      limit, ordered_threshold.data(), ordered.row.data(), n, groups, ordered.limit.data(), ordered.column_limit.data(),
      ordered.group_threshold.data());
  check(cudaGetLastError());
  return ordered;
}

#define KITH_INSTANTIATE(T)                                                                  \
  template CopiedRows copy_rows(const HeldRows<T>&, const SearchBase<T>&, const RowSubset&); \
  template OrderedRows order_by_threshold(const HeldRows<T>&, const SearchBase<T>&, const float*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
