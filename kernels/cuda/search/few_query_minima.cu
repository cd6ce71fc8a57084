// Group minima for a few queries, by matrix instructions of a warp with base rows as their first operand.
//
// A thread block takes the tiles of one block minimum, each of its warps two of them. A lane loads 16 bytes of a row
// directly into the operand registers and keeps the minimum of its group in a register until the tile is done. The
// kernel reads 2 n d bytes: 2.56 GB for 10^7 x 128, 0.61 ms at 4.2 TB/s on an H200.
#include "kernels/cuda/search/few_query_minima.h"

#include <type_traits>

#include "kernels/cuda/device/block_copy.h"
#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr int kTile = 8;   // queries per matrix instruction
constexpr int kRows = 16;  // base rows per matrix instruction
constexpr int kSteps = kFp16TileRows / kRows;
constexpr int kWarpTiles = kBlockTiles / kBlockWarps;
static_assert(kWarpTiles == 2, "a warp writes the minima of an even tile and an odd one together");

/// Products of 16 base rows with the queries. Every row of a lane is `group` modulo 8. A lane loads chunks `quad` and
/// `quad` + 4 of each tile of a row and passes four of a chunk's eight fp16 values to each of two matrix instructions:
/// a permutation of the columns, which does not change the product because both operands use the same one.
template <int kTiles>
__device__ void multiply_rows(const uint4* row, const SearchQueries& queries, float (&product)[kTiles][4]) {
  const int group = lane_index() / 4, quad = lane_index() % 4;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) product[t][i] = 0.0F;
  }
#pragma unroll 2
  for (int depth_tile = 0; depth_tile < queries.shape.depth_tiles; ++depth_tile, row += kFp16TileRows * kRowChunks) {
    uint4 low[2], high[2];
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int place = (s * 4 + quad) ^ group;
      low[s] = __ldcs(row + place);
      high[s] = __ldcs(row + 8 * kRowChunks + place);
    }
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int chunk = s * 4 + quad;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        // Queries with few columns have fewer chunks; beyond them the rows are zero.
        const uint4 c = chunk < queries.shape.chunks
                            ? __ldg(queries.tiles + queries.shape.place(t * kTile + group, depth_tile, chunk))
                            : uint4{};
        multiply_16x8x16(product[t], {low[s].x, low[s].y}, {high[s].x, high[s].y}, {c.x, c.y});
        multiply_16x8x16(product[t], {low[s].z, low[s].w}, {high[s].z, high[s].w}, {c.z, c.w});
      }
    }
  }
}

/// Of each 16 rows and 8 queries, a lane holds the scores of rows `group` and `group` + 8, which belong to quarter
/// group / 2, for queries 2 quad and 2 quad + 1. tile_block: the tiles of the thread block.
template <int kTiles>
__device__ void multiply_block(const uint4* tiles, const float* score_base, const SearchQueries& queries,
                               std::int64_t tile_block) {
  const GroupMinima& minima = queries.minima;
  const int group = lane_index() / 4, quad = lane_index() % 4, quarter = group / 2;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first_tile = tile_block * kBlockTiles + warp * kWarpTiles;
  const std::int64_t tile_chunks = std::int64_t{kFp16TileRows} * kRowChunks * queries.shape.depth_tiles;
  __shared__ int smallest_of_warps[kBlockWarps][kFewQueries][kQuarters];
  int smallest[kWarpTiles][kTiles][2];
#pragma unroll
  for (int w = 0; w < kWarpTiles; ++w) {
    const std::int64_t tile = first_tile + w;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) smallest[w][t][0] = smallest[w][t][1] = INT_MAX;
    if (tile >= minima.tiles) continue;
    for (int step = 0; step < kSteps; ++step) {
      const int row = step * kRows + group;
      float product[kTiles][4];
      multiply_rows(tiles + tile * tile_chunks + row * kRowChunks, queries, product);
      const float low = __ldg(score_base + base_place_of_row(tile * kFp16Columns + row));
      const float high = __ldg(score_base + base_place_of_row(tile * kFp16Columns + row + 8));
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          smallest[w][t][i] = min(smallest[w][t][i], min(__float_as_int(__fsub_rn(low, product[t][i])),
                                                         __float_as_int(__fsub_rn(high, product[t][2 + i]))));
        }
      }
    }
  }
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int q = t * kTile + 2 * quad + i;
#pragma unroll
      for (int w = 0; w < kWarpTiles; ++w) {  // combine with the other row of the quarter
        smallest[w][t][i] = min(smallest[w][t][i], __shfl_xor_sync(kAllLanes, smallest[w][t][i], 4));
      }
      if (group % 2 != 0) continue;
      smallest_of_warps[warp][q][quarter] = min(smallest[0][t][i], smallest[1][t][i]);
      if (q >= queries.count || first_tile >= minima.tiles) continue;
      *reinterpret_cast<int2*>(minima.group_min + q * minima.groups() + GroupMinima::place(first_tile, quarter)) =
          make_int2(smallest[0][t][i], smallest[1][t][i]);
    }
  }
  __syncthreads();
  const int q = static_cast<int>(threadIdx.x) / kQuarters, own_quarter = static_cast<int>(threadIdx.x) % kQuarters;
  if (q >= kTiles * kTile || q >= queries.count) return;
  int block_min = INT_MAX;
#pragma unroll
  for (int w = 0; w < kBlockWarps; ++w) block_min = min(block_min, smallest_of_warps[w][q][own_quarter]);
  minima.block_min[q * minima.blocks() + tile_block * kQuarters + own_quarter] = __int_as_float(block_min);
}

template <int kTiles>
__global__ void __launch_bounds__(kBlock, kTiles == 1 ? 3 : 2)  // more loads in flight
    few_query_kernel(const uint4* tiles, const float* score_base, const SearchQueries queries) {
  multiply_block<kTiles>(tiles, score_base, queries, blockIdx.x);
}

/// A block per item.
template <int kTiles>
__global__ void __launch_bounds__(kBlock, 2)
    few_query_parts_kernel(const FewQueryPart* parts, const FewQueryItem* items) {
  const FewQueryItem item = items[blockIdx.x];
  const FewQueryPart& part = copy_for_block(parts[item.part]);
  multiply_block<kTiles>(part.tiles, part.score_base, part.queries, item.tile_block);
}
static_assert(kFewQueries * kQuarters <= kBlock, "one thread per block minimum");

/// Calls launch(tiles), where tiles.value is the number of tiles of so many queries.
template <class Launch>
void with_tiles(std::int64_t queries, const Launch& launch) {
  switch ((queries + kTile - 1) / kTile) {
    case 1:
      return launch(std::integral_constant<int, 1>());
    case 2:
      return launch(std::integral_constant<int, 2>());
    case 3:
      return launch(std::integral_constant<int, 3>());
    default:
      return launch(std::integral_constant<int, 4>());
  }
}

}  // namespace

void find_few_query_minima(const Stream& stream, const uint4* tiles, const float* score_base,
                           const SearchQueries& queries) {
  const auto blocks = static_cast<unsigned>(queries.minima.tile_blocks());
  with_tiles(queries.count, [&](auto query_tiles) {
    few_query_kernel<decltype(query_tiles)::value><<<blocks, kBlock, 0, stream>>>(tiles, score_base, queries);
    check(cudaGetLastError());
  });
}

void find_parts_minima(const Stream& stream, const FewQueryPart* parts, const FewQueryItem* items,
                       std::int64_t item_count, std::int64_t most_queries) {
  if (item_count == 0) return;
  const auto blocks = static_cast<unsigned>(item_count);
  with_tiles(most_queries, [&](auto query_tiles) {
    few_query_parts_kernel<decltype(query_tiles)::value><<<blocks, kBlock, 0, stream>>>(parts, items);
    check(cudaGetLastError());
  });
}

}  // namespace kith::cuda
