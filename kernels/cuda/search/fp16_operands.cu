// Base rows become columns once: what is added to their scores, and whole tiles where the rows have narrow ones.
// Queries are rounded as points are; of inner products, each after it was brought near 1 by a power of two.
//
// Scores get a bias that makes them positive, which grows with the largest norm of a query: those of queries from far
// outside the base are not bounded.
#include "kernels/cuda/search/fp16_operands.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/distance.h"
#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {
namespace {

constexpr double kReach = 4.0;                                   // of a query, in largest norms of the base
constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;  // positions are int32

/// How long a query may be, in the unit of the half rows.
template <class T>
double reach_of(const HeldRows<T>& held, Measure measure) {
  constexpr double kHalvesUp = 1 + 0x1p-10;  // with what rounding to fp16 adds
  if (measure != Measure::inner_product) return kReach * held.fp16.largest.norm;
  return std::sqrt(static_cast<double>(held.columns())) * (1 << kFp16Shift) * kHalvesUp;
}

template <class T>
Fp16Bound bound_of(const HeldRows<T>& held, Measure measure) {
  const LargestNorms& base = held.fp16.largest;
  const std::int64_t d = held.columns();
  Fp16Bound bound =
      fp16_bound({reach_of(held, measure), 0.0}, base, d, fp16_exponent(held.plan.screen), tensor_accumulation(d));
  if (measure != Measure::inner_product) return bound;
  const std::vector<float>& center = held.plan.screen.center;
  const double length = std::sqrt(squared_length(center.data(), d)) * (1 << kFp16Shift);
  bound.margin.constant += product_definition_margin(base.norm + length, d);
  return bound;
}

/// Rows that do not exist score 10^37. half_sq_norm: null for inner products.
__global__ void base_kernel(const float* half_sq_norm, std::int64_t rows, std::int64_t padded, float bias, float* out) {
  constexpr float kUnit = 1 << 2 * kFp16Shift;  // of the half rows' products
  for (std::int64_t i = thread_index(); i < padded; i += thread_count()) {
    const float added = half_sq_norm != nullptr && i < rows ? half_sq_norm[i] * kUnit : 0.0F;
    out[base_place_of_row(i)] = i < rows ? __fadd_rn(added, bias) : QuantizationGrid::kNever;
  }
}

/// Rows of a narrow layout in whole tiles, zero beyond their columns.
__global__ void widen_kernel(const uint4* from, Fp16Layout narrow, std::int64_t rows, uint4* to) {
  const Fp16Layout whole;
  for (std::int64_t i = thread_index(); i < rows * kRowChunks; i += thread_count()) {
    const std::int64_t row = i / kRowChunks;
    const int chunk = static_cast<int>(i % kRowChunks);
    to[whole.place(row, 0, chunk)] = chunk < narrow.chunks ? from[narrow.place(row, 0, chunk)] : uint4{};
  }
}

/// Columns of a block, so that the last round of blocks is nearly full and blocks are not so short that beginning one
/// shows.
std::int64_t columns_of_block(const Context& context, std::int64_t queries, std::int64_t tiles) {
  constexpr std::int64_t kBeginning = 4;  // tiles that could be multiplied meanwhile
  constexpr std::int64_t kMostRounds = 8;
  const std::int64_t row_tiles = (queries + kQueryTile - 1) / kQueryTile, processors = context.multiprocessors;
  const std::int64_t most_runs = (tiles + kTogether - 1) / kTogether;
  std::int64_t best = 0, best_cost = 0;
  for (std::int64_t wanted = 1; wanted <= kMostRounds; ++wanted) {
    const std::int64_t runs = std::clamp<std::int64_t>(wanted * processors / row_tiles, 1, most_runs);
    const std::int64_t run = (most_runs + runs - 1) / runs * kTogether;
    const std::int64_t blocks = row_tiles * ((tiles + run - 1) / run);
    const std::int64_t cost = (blocks + processors - 1) / processors * (run + kBeginning);
    if (best > 0 && cost >= best_cost) continue;
    best = run;
    best_cost = cost;
  }
  return best * kFp16Columns;
}

}  // namespace

template <class T>
bool multiplies_base(const HeldRows<T>& held, Measure measure) {
  if (measure != Measure::squared_euclidean && measure != Measure::inner_product) return false;
  if (held.fp16.values.size() == 0 || held.sent || held.rows() > kMostRows) return false;
  return std::isfinite(bound_of(held, measure).margin.constant);
}

template <class T>
SearchBase<T> search_base(const HeldRows<T>& held, Measure measure) {
  const bool is_product = measure == Measure::inner_product;
  SearchBase<T> base{.values = held.resident.data(),
                     .rows = held.rows(),
                     .d = held.columns(),
                     .first_row = held.first_row,
                     .measure = measure,
                     .bound = bound_of(held, measure),
                     .reach = static_cast<float>(reach_of(held, measure))};
  SearchColumns& columns = held.fp16.search;
  const Fp16Layout shape = held.fp16.shape;
  const std::int64_t padded = base.tiles() * kFp16Columns;
  if (shape.chunks != kRowChunks && columns.tiles.size() == 0) {
    columns.tiles = Buffer<uint4>(held.pool(), padded * kRowChunks);
    widen_kernel<<<held.context->grid(padded * kRowChunks, kBlock), kBlock, 0, held.stream()>>>(
        held.fp16.values.data(), shape, padded, columns.tiles.data());
    check(cudaGetLastError());
  }
  Buffer<float>& score_base = is_product ? columns.product_base : columns.score_base;
  if (score_base.size() == 0) {
    const std::int64_t fetched = padded + kFp16Columns;  // a tile ahead
    score_base = Buffer<float>(held.pool(), fetched);
    base_kernel<<<held.context->grid(fetched, kBlock), kBlock, 0, held.stream()>>>(
        is_product ? nullptr : held.half_sq_norm.data(), held.rows(), fetched, base.bound.grid.bias, score_base.data());
    check(cudaGetLastError());
  }
  base.tiles = columns.tiles.size() > 0 ? columns.tiles.data() : held.fp16.values.data();
  base.score_base = score_base.data();
  return base;
}

template <class T>
SearchBase<T> from_row(const HeldRows<T>& held, SearchBase<T> base, std::int64_t row) {
  constexpr std::int64_t kPair = 2 * kFp16TileRows;  // of tiles
  static_assert(kFp16TileRows == kFp16Columns, "a tile is a group of rows");
  const std::int64_t first = std::max<std::int64_t>(row - base.first_row, 0) / kPair * kPair;
  const Fp16Layout shape = held.fp16.search.tiles.size() > 0 ? Fp16Layout{} : held.fp16.shape;
  base.values += first * base.d;
  base.rows -= first;
  base.first_row += first;
  base.tiles += shape.place(first, 0, 0);
  base.score_base += first;
  return base;
}

template <class T>
Fp16Queries allocate_fp16_queries(const HeldRows<T>& held, Measure measure, std::int64_t queries) {
  Fp16Queries room{.values = Buffer<double>(held.pool(), queries * held.columns()),
                   .fp16 = allocate_fp16(held.pool(), queries, held.fp16.shape),
                   .factor = {},
                   .narrow = {},
                   .largest = Buffer<Word>(held.pool(), 2)};
  if (measure == Measure::inner_product) room.factor = Buffer<double>(held.pool(), queries);
  if (!std::is_same_v<T, double>) room.narrow = Buffer<float>(held.pool(), queries * held.columns());
  return room;
}

template <class T>
void send_queries(const HeldRows<T>& held, const Stream& stream, const double* values, std::int64_t count,
                  Fp16Queries& queries) {
  const std::int64_t size = count * held.columns();
  queries.is_narrow = queries.narrow.size() > 0 && stream.upload_as_floats(queries.narrow.data(), values, size);
  if (!queries.is_narrow) stream.upload(queries.values.data(), values, size);
}

template <class T>
void round_queries(const HeldRows<T>& held, std::int64_t count, const Fp16Queries& queries) {
  double* values = queries.values.data();
  if (queries.is_narrow) {
    const std::int64_t size = count * held.columns();
    doubles_kernel<<<held.context->grid(size, kBlock), kBlock, 0, held.stream()>>>(queries.narrow.data(), size, values);
    check(cudaGetLastError());
  }
  if (queries.factor.size() > 0) {
    queue_factored_fp16(held, values, count, queries.fp16, queries.largest.data(), queries.factor.data());
  } else {
    queue_fp16(held, values, count, queries.fp16, queries.largest.data());
  }
}

template <class T>
Fp16Problem search_problem(const HeldRows<T>& held, const SearchBase<T>& base, const uint4* tiles,
                           std::int64_t queries) {
  return {.points = tiles,
          .rows = queries,
          .columns = base.tiles,
          .count = base.tiles() * kFp16Columns,
          .score_base = base.score_base,
          .shape = held.fp16.shape,
          .range_columns = columns_of_block(*held.context, queries, base.tiles())};
}

#define KITH_INSTANTIATE(T)                                                                                 \
  template bool multiplies_base(const HeldRows<T>&, Measure);                                               \
  template SearchBase<T> search_base(const HeldRows<T>&, Measure);                                          \
  template SearchBase<T> from_row(const HeldRows<T>&, SearchBase<T>, std::int64_t);                         \
  template Fp16Queries allocate_fp16_queries(const HeldRows<T>&, Measure, std::int64_t);                    \
  template void send_queries(const HeldRows<T>&, const Stream&, const double*, std::int64_t, Fp16Queries&); \
  template void round_queries(const HeldRows<T>&, std::int64_t, const Fp16Queries&);                        \
  template Fp16Problem search_problem(const HeldRows<T>&, const SearchBase<T>&, const uint4*, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
