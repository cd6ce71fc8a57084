// Prepares the operands: score bases of the held rows and, if their tiles are narrow, a copy in full-width tiles, both
// once per set of points; and queries rounded to fp16, for inner products after scaling each by a power of two.
//
// A bias makes all scores positive. It grows with the largest query norm, so that norm is limited: queries far outside
// the base become fallback queries. A tree holds the rows that are far longer than the others (screen/fp16_rows.h); a
// search visits it after its lists hold the nearest other rows.
#include "kernels/cuda/search/fp16_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers/distance.h"
#include "kernels/cuda/search/search_epilogues.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

constexpr double kQueryNormRatio = 4.0;                         // largest query norm, in largest norms of the base
constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) - 1;  // positions are int32

/// The largest supported norm of a query, in the unit of the fp16 rows.
template <class T>
double max_query_norm(const HeldRows<T>& held, Measure measure) {
  constexpr double kRounding = 1 + 0x1p-10;  // covers the rounding to fp16
  if (measure != Measure::inner_product) return kQueryNormRatio * held.fp16.largest.norm;
  return std::sqrt(static_cast<double>(held.columns())) * (1 << kFp16Shift) * kRounding;
}

template <class T>
Fp16Bound bound_of(const HeldRows<T>& held, Measure measure) {
  const LargestNorms& base = held.fp16.largest;
  const std::int64_t d = held.columns();
  Fp16Bound bound = fp16_bound({max_query_norm(held, measure), 0.0}, base, d, fp16_exponent(held.plan.screen),
                               tensor_accumulation(d));
  if (measure != Measure::inner_product) return bound;
  const std::vector<float>& center = held.plan.screen.center;
  const double length = std::sqrt(squared_length(center.data(), d)) * (1 << kFp16Shift);
  bound.margin.constant += product_definition_margin(base.norm + length, d);
  return bound;
}

/// Rows of a base that exist for a search: those with norms up to max_norm. norm: null for all.
struct ExistingRows {
  const float* norm = nullptr;
  float max_norm = 0.0F;
  std::int64_t rows = 0;

  __device__ bool has(std::int64_t i) const { return i < rows && (norm == nullptr || norm[i] <= max_norm); }
};

/// Score bases; those of rows that do not exist make scores of 10^37. half_sq_norm: null for inner products.
__global__ void base_kernel(const float* half_sq_norm, ExistingRows existing, std::int64_t padded, float bias,
                            float* out) {
  constexpr float kUnit = 1 << 2 * kFp16Shift;  // of the products of fp16 rows
  for (std::int64_t i = thread_index(); i < padded; i += thread_count()) {
    const float sq_norm_part = half_sq_norm != nullptr && i < existing.rows ? half_sq_norm[i] * kUnit : 0.0F;
    out[base_place_of_row(i)] = existing.has(i) ? __fadd_rn(sq_norm_part, bias) : QuantizationGrid::kNever;
  }
}

template <class T>
Buffer<float> queue_score_base(const HeldRows<T>& held, const float* half_sq_norm, const ExistingRows& existing,
                               float bias) {
  // One more tile, for ScoreBasePrefetch.
  const std::int64_t with_prefetch = (row_groups_of(held.rows()) + 1) * kFp16Columns;
  Buffer<float> score_base(held.pool(), with_prefetch);
  base_kernel<<<held.context->grid(with_prefetch, kBlock), kBlock, 0, held.stream()>>>(
      half_sq_norm, existing, with_prefetch, bias, score_base.data());
  check(cudaGetLastError());
  return score_base;
}

/// Copies rows from a narrow layout to full-width tiles, with zeros beyond their columns.
__global__ void to_full_tiles_kernel(const uint4* from, Fp16Layout narrow, std::int64_t rows, uint4* to) {
  const Fp16Layout full;
  for (std::int64_t i = thread_index(); i < rows * kRowChunks; i += thread_count()) {
    const std::int64_t row = i / kRowChunks;
    const int chunk = static_cast<int>(i % kRowChunks);
    to[full.place(row, 0, chunk)] = chunk < narrow.chunks ? from[narrow.place(row, 0, chunk)] : uint4{};
  }
}

/// Columns of a column range: whole blocks of tiles. Minimises the number of rounds of thread blocks times the duration
/// of a block, which includes a constant for its start.
std::int64_t choose_range_columns(const Context& context, std::int64_t queries, std::int64_t tiles) {
  constexpr std::int64_t kStartTiles = 4;  // duration of the start of a block, in tiles
  constexpr std::int64_t kMaxRounds = 8;
  const std::int64_t row_tiles = (queries + kQueryTile - 1) / kQueryTile, processors = context.multiprocessors;
  const std::int64_t max_ranges = (tiles + kBlockTiles - 1) / kBlockTiles;
  std::int64_t best = 0, least = 0;
  for (std::int64_t rounds = 1; rounds <= kMaxRounds; ++rounds) {
    const std::int64_t ranges = std::clamp<std::int64_t>(rounds * processors / row_tiles, 1, max_ranges);
    const std::int64_t range_tiles = (max_ranges + ranges - 1) / ranges * kBlockTiles;
    const std::int64_t blocks = row_tiles * ((tiles + range_tiles - 1) / range_tiles);
    const std::int64_t cost = (blocks + processors - 1) / processors * (range_tiles + kStartTiles);
    if (best == 0 || cost < least) best = range_tiles, least = cost;
  }
  return best * kFp16Columns;
}

}  // namespace

template <class T>
bool has_fp16_scores(const HeldRows<T>& held, Measure measure) {
  if (measure != Measure::squared_euclidean && measure != Measure::inner_product) return false;
  if (!held.fp16.are_kept() || held.sent || held.rows() > kMaxRows) return false;
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
                     .max_query_norm = static_cast<float>(max_query_norm(held, measure))};
  SearchColumns& columns = held.fp16.search;
  const Fp16Layout shape = held.fp16.shape;
  const std::int64_t padded = base.tile_count() * kFp16Columns;
  if (shape.chunks != kRowChunks && columns.tiles.size() == 0) {
    columns.tiles = Buffer<uint4>(held.pool(), padded * kRowChunks);
    to_full_tiles_kernel<<<held.context->grid(padded * kRowChunks, kBlock), kBlock, 0, held.stream()>>>(
        held.fp16.values.data(), shape, padded, columns.tiles.data());
    check(cudaGetLastError());
  }
  Buffer<float>& score_base = is_product ? columns.product_base : columns.score_base;
  if (score_base.size() == 0) {
    score_base = queue_score_base(held, is_product ? nullptr : held.half_sq_norm.data(), {.rows = held.rows()},
                                  base.bound.grid.bias);
  }
  base.tiles = columns.tiles.size() > 0 ? columns.tiles.data() : held.fp16.values.data();
  base.score_base = score_base.data();
  return base;
}

template <class T>
QueryLimits usual_limits(const HeldRows<T>& held, const LargestNorms& rows) {
  return limits_for(held, rows, kQueryNormRatio * rows.norm);
}

template <class T>
QueryLimits limits_for(const HeldRows<T>& held, const LargestNorms& rows, double max_query_norm) {
  const std::int64_t d = held.columns();
  return {max_query_norm,
          fp16_bound({max_query_norm, 0.0}, rows, d, fp16_exponent(held.plan.screen), tensor_accumulation(d))};
}

template <class T>
Buffer<float> make_score_base(const HeldRows<T>& held, const Fp16Bound& bound, float max_row_norm) {
  return queue_score_base(held, held.half_sq_norm.data(), {held.fp16.norm.data(), max_row_norm, held.rows()},
                          bound.grid.bias);
}

template <class T>
SearchBase<T> from_row(const HeldRows<T>& held, SearchBase<T> base, std::int64_t row) {
  constexpr std::int64_t kPairRows = 2 * kFp16TileRows;  // rows of a pair of tiles
  static_assert(kFp16TileRows == kFp16Columns, "a tile of columns has as many rows as a tile of queries");
  const std::int64_t first = std::max<std::int64_t>(row - base.first_row, 0) / kPairRows * kPairRows;
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
  Fp16Queries result{.values = Buffer<double>(held.pool(), queries * held.columns()),
                     .fp16 = allocate_fp16(held.pool(), queries, held.fp16.shape),
                     .factor = {},
                     .largest = Buffer<Word>(held.pool(), 2)};
  if (measure == Measure::inner_product) result.factor = Buffer<double>(held.pool(), queries);
  return result;
}

template <class T>
void upload_queries(const HeldRows<T>& held, const Stream& stream, const double* values, std::int64_t count,
                    Fp16Queries& queries) {
  stream.upload(queries.values.data(), values, count * held.columns());
}

template <class T>
void round_queries(const HeldRows<T>& held, std::int64_t count, const Fp16Queries& queries) {
  const double* values = queries.values.data();
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
          .count = base.tile_count() * kFp16Columns,
          .score_base = base.score_base,
          .shape = held.fp16.shape,
          .range_columns = choose_range_columns(*held.context, queries, base.tile_count())};
}

template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held) {
  LongRows<T>& parted = held.long_rows;
  if (parted.examined) return parted;
  const Fp16Rows& fp16 = held.fp16;
  const std::int64_t count = fp16.longer_rows.size();
  parted.others = fp16.largest;
  parted.max_norm = std::numeric_limits<float>::infinity();
  if (count > 0 && !held.sent && held.columns() <= kMostTreeColumns) {
    // |x'| <= |x^| + |x' - x^|
    const LargestNorms others{fp16.screened.norm + fp16.screened.residual, fp16.screened.residual};
    const auto max_norm = static_cast<float>(fp16.screened.norm);
    Buffer<float> score_base = make_score_base(held, usual_limits(held, others).bound, max_norm);
    parted.tree = build_tree(held, fp16.longer_rows.data(), 1, count);
    parted.others = others;
    parted.max_norm = max_norm;
    parted.score_base = std::move(score_base);
  }
  parted.examined = true;
  return parted;
}

template <class T>
SearchBase<T> without_long_rows(const HeldRows<T>& held, double max_query_norm, Buffer<float>& score_base) {
  const LongRows<T>& parted = find_long_rows(held);
  SearchBase<T> base = search_base(held, Measure::squared_euclidean);
  const bool usual = max_query_norm == 0;
  if (usual && parted.tree.is_empty()) return base;
  const QueryLimits limits =
      usual ? usual_limits(held, parted.others) : limits_for(held, parted.others, max_query_norm);
  base.bound = limits.bound;
  base.max_query_norm = static_cast<float>(limits.max_query_norm);
  if (!usual) score_base = make_score_base(held, limits.bound, parted.max_norm);
  base.score_base = usual ? parted.score_base.data() : score_base.data();
  return base;
}

#define KITH_INSTANTIATE(T)                                                                                   \
  template bool has_fp16_scores(const HeldRows<T>&, Measure);                                                 \
  template SearchBase<T> search_base(const HeldRows<T>&, Measure);                                            \
  template QueryLimits usual_limits(const HeldRows<T>&, const LargestNorms&);                                 \
  template QueryLimits limits_for(const HeldRows<T>&, const LargestNorms&, double);                           \
  template Buffer<float> make_score_base(const HeldRows<T>&, const Fp16Bound&, float);                        \
  template SearchBase<T> from_row(const HeldRows<T>&, SearchBase<T>, std::int64_t);                           \
  template Fp16Queries allocate_fp16_queries(const HeldRows<T>&, Measure, std::int64_t);                      \
  template void upload_queries(const HeldRows<T>&, const Stream&, const double*, std::int64_t, Fp16Queries&); \
  template void round_queries(const HeldRows<T>&, std::int64_t, const Fp16Queries&);                          \
  template Fp16Problem search_problem(const HeldRows<T>&, const SearchBase<T>&, const uint4*, std::int64_t);  \
  template const LongRows<T>& find_long_rows(const HeldRows<T>&);                                             \
  template SearchBase<T> without_long_rows(const HeldRows<T>&, double, Buffer<float>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
