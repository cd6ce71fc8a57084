// Scores of rows of bits: the bits that a query and a row have in common are products of bits on the tensor cores, 256
// of them at a time, and every D follows from them and from the bits that each of the two has.
//
// A block of 256 threads multiplies 128 queries by 128 rows, 1024 bits of them at a time, each warp 32 by 64. While one
// part is multiplied the next is copied to shared memory. A multiprocessor of an A100 multiplies 16384 bits in a clock,
// and its shared memory is read in three quarters of the time: at that rate q n D = 10^13 would take 3 ms on an H200,
// whose search of so many takes 15 (2026-11-27). Two instructions for each pair, ten for Jaccard, find the smallest
// score of 64 rows. Scores of groups that are within no limit are not written, so that a search writes 4 bytes for 64
// pairs, and reads the rows once for 128 queries, mostly from the second-level cache. search/float32_search.cu and
// radius.cu make lists of the scores.
#include <climits>
#include <limits>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/search/float32_scores.h"

namespace kith::cuda {
namespace {

constexpr int kChunk = 16;       // bytes that a thread copies at a time
constexpr int kStageChunks = 8;  // of a row in shared memory
constexpr int kStage = kTileRows * kStageChunks;
constexpr int kSharedBytes = 2 * 2 * kStage * kChunk;  // two stages of queries and rows
constexpr int kNever = 1 << 30;                        // bits of a row that does not exist
static_assert(2 * kMostBits < kNever / 2);

/// Rows of d bytes, of which the bits behind the last are 0.
struct BitRows {
  const std::uint8_t* values = nullptr;
  std::int64_t rows = 0, d = 0;

  __host__ __device__ std::int64_t chunks() const { return (d + kChunk - 1) / kChunk; }
  /// Whether each chunk is at a multiple of its size.
  __host__ __device__ bool is_aligned() const {
    return (reinterpret_cast<std::uintptr_t>(values) | static_cast<std::uintptr_t>(d)) % kChunk == 0;
  }

  /// A chunk of a row, with zeros behind the last byte. It reads words that hold a byte of the row, and no others.
  __device__ uint4 chunk(std::int64_t row, std::int64_t number) const {
    const std::uint8_t* from = values + row * d + number * kChunk;
    if (is_aligned()) return __ldg(reinterpret_cast<const uint4*>(from));
    const auto before = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4);
    const int end = before + static_cast<int>(min(d - number * kChunk, std::int64_t{kChunk}));
    const std::uint8_t* first = from - before;
    unsigned word[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      word[i] = 0;
      if (4 * i + 4 <= end) {
        word[i] = __ldg(reinterpret_cast<const unsigned*>(first) + i);
      } else {
        for (int j = max(4 * i, before); j < end; ++j)
          word[i] |= static_cast<unsigned>(__ldg(first + j)) << 8 * (j % 4);
      }
    }
    return {__funnelshift_r(word[0], word[1], 8 * before), __funnelshift_r(word[1], word[2], 8 * before),
            __funnelshift_r(word[2], word[3], 8 * before), __funnelshift_r(word[3], word[4], 8 * before)};
  }
};

/// Queries as bytes, each padded to whole chunks. A thread writes four of them.
__global__ void pack_kernel(const double* queries, std::int64_t count, std::int64_t d, std::int64_t chunks,
                            unsigned* packed) {
  const std::int64_t words = chunks * kChunk / 4;
  for (std::int64_t i = thread_index(); i < count * words; i += thread_count()) {
    const std::int64_t q = i / words, first = i % words * 4;
    unsigned word = 0;
    for (std::int64_t j = first; j < min(first + 4, d); ++j)
      word |= static_cast<unsigned>(queries[q * d + j]) << 8 * (j - first);
    packed[i] = word;
  }
}

/// bits[i] = the bits of row i, kNever for rows that do not exist, up to `padded`. Several lanes share a row.
__global__ void count_kernel(BitRows rows, std::int64_t padded, int* bits) {
  const int lanes = lanes_sharing(static_cast<int>(min(rows.chunks(), std::int64_t{kWarp})));
  const int together = kWarp / lanes, lane = lane_index() % lanes;
  for (std::int64_t first = warp_index() * together; first < padded; first += warp_count() * together) {
    const std::int64_t row = first + lane_index() / lanes;
    int count = 0;
    for (std::int64_t c = lane; row < rows.rows && c < rows.chunks(); c += lanes) {
      const uint4 chunk = rows.chunk(row, c);
      count += __popc(chunk.x) + __popc(chunk.y) + __popc(chunk.z) + __popc(chunk.w);
    }
    count = group_total(count, lanes);
    if (lane == 0 && row < padded) bits[row] = row < rows.rows ? count : kNever;
  }
}

void count_bits(const Context& context, const BitRows& rows, std::int64_t padded, int* bits) {
  count_kernel<<<context.grid(padded, kBlockWarps), kBlock, 0, context.stream>>>(rows, padded, bits);
  check(cudaGetLastError());
}

#ifdef KITH_AMPERE

constexpr int kWarpRows = 32;  // queries that a warp multiplies
constexpr int kQueryTiles = kWarpRows / 16, kRowTiles = kWarpColumns / 8;
constexpr int kLaneRows = 2 * kRowTiles;  // consecutive rows whose scores a lane has

/// Place of a chunk of a row in shared memory: eight lanes that read four chunks of two rows reach all banks.
__device__ int place_of(int row, int chunk) { return row * kStageChunks + (chunk ^ row % 2 * (kStageChunks / 2)); }

/// Copies chunks first_chunk .. first_chunk + kStageChunks - 1 of 128 rows to shared memory.
template <bool kAligned>
__device__ void copy_stage(const BitRows& rows, std::int64_t first_row, std::int64_t first_chunk, uint4* stage) {
#pragma unroll 1
  for (int i = 0; i < kStage; i += kTileThreads) {
    const int slot = i + static_cast<int>(threadIdx.x), row = slot / kStageChunks, chunk = slot % kStageChunks;
    const std::int64_t from = min(first_row + row, rows.rows - 1), number = first_chunk + chunk;
    uint4* to = stage + place_of(row, chunk);
    if (number >= rows.chunks()) {
      *to = uint4{};
    } else if constexpr (kAligned) {
      copy_chunk(shared_address(to), rows.values + from * rows.d + number * kChunk);
    } else {
      *to = rows.chunk(from, number);
    }
  }
}

/// The scores of a warp: product[m][j][i] of a lane is that of query 16 m + 8 (i / 2) + l / 4 and row
/// 16 (l % 4) + 2 j + i % 2.
using BitProducts = int[kQueryTiles][kRowTiles][4];

/// Adds the products of 512 bits: of chunks 4 half .. 4 half + 3 of each row. A lane has the same chunk of a query and
/// of a row, and so any order of the bits is right. queries, rows: of the first that this warp multiplies.
__device__ void multiply(const uint4* queries, const uint4* rows, int half, BitProducts& product) {
  const int group = lane_index() / 4, chunk = lane_index() % 4 + 4 * half;
  uint4 a[kQueryTiles][2];
#pragma unroll
  for (int m = 0; m < kQueryTiles; ++m) {
    a[m][0] = queries[place_of(16 * m + group, chunk)];
    a[m][1] = queries[place_of(16 * m + group + 8, chunk)];
  }
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j) {
    const uint4 b = rows[place_of(group / 2 * kLaneRows + 2 * j + group % 2, chunk)];
#pragma unroll
    for (int m = 0; m < kQueryTiles; ++m) {
      multiply_bits_16x8x256(product[m][j], {a[m][0].x, a[m][0].y}, {a[m][1].x, a[m][1].y}, {b.x, b.y});
      multiply_bits_16x8x256(product[m][j], {a[m][0].z, a[m][0].w}, {a[m][1].z, a[m][1].w}, {b.z, b.w});
    }
  }
}

/// Orders the rows of a query as D of a measure does, for less than a division.
template <Measure M>
struct Order;

/// D less the bits of the query.
template <>
struct Order<Measure::hamming> {
  int value = INT_MAX;

  static __device__ Order of(int common, int, int row_bits) { return {row_bits - 2 * common}; }
  __device__ void take_lower(const Order& other) { value = min(value, other.value); }
  __device__ Order of_lane(int apart) const { return {__shfl_xor_sync(kAllLanes, value, apart)}; }
  __device__ float score(int query_bits) const {
    return value > kNever / 2 ? std::numeric_limits<float>::infinity() : static_cast<float>(query_bits + value);
  }
};

/// The bits that differ, divided by the sum of those of both rows, of which D is a rising function. Fractions are
/// compared by integers.
template <>
struct Order<Measure::jaccard> {
  unsigned differing = 1U << 31, sum = 1;  // above all

  static __device__ Order of(int common, int query_bits, int row_bits) {
    const int bits = query_bits + row_bits;
    // Two rows without a bit are equal. Rows that do not exist are above 1.
    return {static_cast<unsigned>(bits - 2 * common), static_cast<unsigned>(min(max(bits, 1), kNever / 2))};
  }
  __device__ void take_lower(const Order& other) {
    const auto product = [](unsigned a, unsigned b) { return static_cast<std::uint64_t>(a) * b; };
    if (product(other.differing, sum) < product(differing, other.sum)) *this = other;
  }
  __device__ Order of_lane(int apart) const {
    return {__shfl_xor_sync(kAllLanes, differing, apart), __shfl_xor_sync(kAllLanes, sum, apart)};
  }
  /// Rounded once, since float32 holds numbers of at most 2^24 bits: a score rises with D, and is D in float32.
  __device__ float score(int) const {
    if (differing > kNever / 2) return std::numeric_limits<float>::infinity();
    return __fdiv_rn(static_cast<float>(differing), static_cast<float>((sum + differing + 1) / 2));
  }
};

/// Stores the smallest scores of the warp's 64 rows, and the scores where these are within block.stored_limit.
/// first_row and first_query: of the warp.
template <Measure M>
__device__ void store_scores(const BitProducts& product, const int* query_bits, const int* row_bits,
                             std::int64_t first_query, std::int64_t first_row, const ScoreBlock& block) {
  constexpr int kSlots = 2 * kQueryTiles;  // queries of a lane
  const int group = lane_index() / 4, part = lane_index() % 4;
  const int* const bits = row_bits + first_row + part * kLaneRows;
  int own_bits[kSlots];
  Order<M> smallest[kSlots];
#pragma unroll
  for (int slot = 0; slot < kSlots; ++slot) {
    const std::int64_t query = first_query + 8 * slot + group;
    own_bits[slot] = query < block.queries ? __ldg(query_bits + query) : 0;
  }
  // Calls take(at, order) for a query and rows i + at = i .. i + 3 of the lane.
  const auto for_rows = [&](int i, int slot, const auto& take) {
    const int4 four = __ldg(reinterpret_cast<const int4*>(bits + i));
    const auto order = [&](int at, int of_row) {
      return Order<M>::of(product[slot / 2][(i + at) / 2][slot % 2 * 2 + at % 2], own_bits[slot], of_row);
    };
    take(0, order(0, four.x)), take(1, order(1, four.y)), take(2, order(2, four.z)), take(3, order(3, four.w));
  };
#pragma unroll
  for (int i = 0; i < kLaneRows; i += 4) {
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      for_rows(i, slot, [&](int, const Order<M>& order) { smallest[slot].take_lower(order); });
    }
  }
#pragma unroll
  for (int slot = 0; slot < kSlots; ++slot) {
    const std::int64_t query = first_query + 8 * slot + group;
#pragma unroll
    for (int w = 1; w < 4; w *= 2) smallest[slot].take_lower(smallest[slot].of_lane(w));
    if (query >= block.queries) continue;
    const float lowest = smallest[slot].score(own_bits[slot]);
    if (part == 0) block.group_min[query * block.groups() + first_row / kBlockColumns] = lowest;
    if (block.stored_limit != nullptr && lowest > __ldg(block.stored_limit + query)) continue;
    float* out = block.scores + query * block.pitch + first_row + part * kLaneRows;
#pragma unroll
    for (int i = 0; i < kLaneRows; i += 4) {
      float score[4];
      for_rows(i, slot, [&](int at, const Order<M>& order) { score[at] = order.score(own_bits[slot]); });
      *reinterpret_cast<float4*>(out + i) = make_float4(score[0], score[1], score[2], score[3]);
    }
  }
}

#endif

template <Measure M, bool kAligned>
__global__ void __launch_bounds__(kTileThreads, 2)
    score_kernel(const BitRows queries, const BitRows rows, const int* query_bits, const int* row_bits,
                 const TileGrid grid, const ScoreBlock block) {
#ifdef KITH_AMPERE
  extern __shared__ uint4 stages[];  // [2][queries, rows][kStage]
  const std::int64_t first_query = static_cast<std::int64_t>(blockIdx.x % grid.row_tiles) * kTileRows;
  const unsigned first_tile = blockIdx.x / grid.row_tiles * grid.range_tiles;
  const unsigned tiles = min(grid.range_tiles, grid.column_tiles - first_tile);
  const auto parts = static_cast<unsigned>((queries.chunks() + kStageChunks - 1) / kStageChunks);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warp_query = warp / 2 * kWarpRows, warp_row = warp % 2 * kWarpColumns;
  const auto copy = [&](unsigned tile, unsigned part, unsigned step) {
    uint4* stage = stages + step % 2 * 2 * kStage;
    const std::int64_t chunk = static_cast<std::int64_t>(part) * kStageChunks;
    if (parts > 1 || step < 2) copy_stage<true>(queries, first_query, chunk, stage);
    copy_stage<kAligned>(rows, static_cast<std::int64_t>(tile) * kTileColumns, chunk, stage + kStage);
    copies_commit();
  };
  BitProducts product = {};
  copy(first_tile, 0, 0);
  unsigned step = 0;
  for (unsigned tile = first_tile; tile < first_tile + tiles; ++tile) {
    for (unsigned part = 0; part < parts; ++part, ++step) {
      copies_wait<0>();
      __syncthreads();  // all have copied this part, and multiplied the one before
      const bool is_last = part + 1 == parts;
      if (!is_last || tile + 1 < first_tile + tiles) copy(is_last ? tile + 1 : tile, is_last ? 0 : part + 1, step + 1);
      const uint4* stage = stages + step % 2 * 2 * kStage;
      const std::int64_t left = queries.chunks() - static_cast<std::int64_t>(part) * kStageChunks;
      const uint4 *own_queries = stage + warp_query * kStageChunks,
                  *own_rows = stage + kStage + warp_row * kStageChunks;
      multiply(own_queries, own_rows, 0, product);
      if (left > kStageChunks / 2) multiply(own_queries, own_rows, 1, product);
    }
    store_scores<M>(product, query_bits, row_bits, first_query + warp_query,
                    static_cast<std::int64_t>(tile) * kTileColumns + warp_row, block);
#pragma unroll
    for (int i = 0; i < kQueryTiles * kRowTiles * 4; ++i) product[i / 4 / kRowTiles][i / 4 % kRowTiles][i % 4] = 0;
  }
#endif
}

/// limit[q]: rows from `first_row` on whose score is above it cannot enter list q. Rows that are as near as the last of
/// a full list, and come later, are left out if distances below that have lower scores: if it is at most `distinct`, is
/// 0, or is 1 and is_one_distinct.
__global__ void list_limits_kernel(DeviceLists lists, std::int64_t neighbors, std::int64_t queries,
                                   std::int64_t first_row, double distinct, bool is_one_distinct, float* limit) {
  for (std::int64_t q = thread_index(); q < queries; q += thread_count()) {
    const double last = lists.distance[q * neighbors + neighbors - 1];
    const std::int64_t row = lists.index[q * neighbors + neighbors - 1];
    const bool is_distinct = last <= distinct || last == 0.0 || (last == 1.0 && is_one_distinct);
    limit[q] = row >= 0 && row < first_row && is_distinct ? nextafterf(static_cast<float>(last), -1.0F)
                                                          : static_cast<float>(last);
  }
}

}  // namespace

void pack_bit_queries(const Context& context, const double* queries, std::int64_t count, std::int64_t d,
                      ScreenedCopies& out) {
  BitRows packed{reinterpret_cast<const std::uint8_t*>(out.values.data()), count, 0};
  packed.d = (d + kChunk - 1) / kChunk * kChunk;
  pack_kernel<<<context.grid(count * packed.d / 4, kBlock), kBlock, 0, context.stream>>>(
      queries, count, d, packed.chunks(), reinterpret_cast<unsigned*>(out.values.data()));
  check(cudaGetLastError());
  count_bits(context, packed, count, reinterpret_cast<int*>(out.half_sq_norm.data()));
}

void score_bits(const HeldRows<std::uint8_t>& held, const QueryBatch& batch, const std::uint8_t* values,
                const ScoreBlock& block) {
  const Context& context = *held.context;
  const BitRows rows{values, block.rows, held.columns()};
  const BitRows queries{reinterpret_cast<const std::uint8_t*>(batch.screened->values.data()), block.queries,
                        rows.chunks() * kChunk};
  const Buffer<int> row_bits(held.pool(), block.pitch);
  count_bits(context, rows, block.pitch, row_bits.data());
  const auto kernel =
      batch.measure == Measure::hamming
          ? (rows.is_aligned() ? score_kernel<Measure::hamming, true> : score_kernel<Measure::hamming, false>)
          : (rows.is_aligned() ? score_kernel<Measure::jaccard, true> : score_kernel<Measure::jaccard, false>);
  const TileGrid tiles = tile_grid(batch.queries, block.rows, std::int64_t{context.multiprocessors} * 16);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  kernel<<<tiles.blocks(), kTileThreads, kSharedBytes, context.stream>>>(
      queries, rows, reinterpret_cast<const int*>(batch.screened->half_sq_norm.data()), row_bits.data(), tiles, block);
  check(cudaGetLastError());
}

void limit_by_lists(const Context& context, const DeviceLists& lists, std::int64_t neighbors, Measure measure,
                    std::int64_t columns, std::int64_t queries, std::int64_t first_row, float* limit) {
  // Different whole numbers up to kWhole differ in float32; and so do different fractions up to 1 whose denominators
  // are at most kFractions, which are more than 2^-24 apart, and 1 and all fractions whose denominators are at most
  // kWhole.
  constexpr std::int64_t kWhole = std::int64_t{1} << 24, kFractions = 4096;
  const std::int64_t bits = 8 * columns;
  const bool all = bits <= (measure == Measure::hamming ? kWhole : kFractions);
  list_limits_kernel<<<context.grid(queries, kBlock), kBlock, 0, context.stream>>>(
      lists, neighbors, queries, first_row, all ? static_cast<double>(bits) : 0.0, bits <= kWhole, limit);
  check(cudaGetLastError());
}

}  // namespace kith::cuda
