// The operands of the fp16 product of a search: queries are its rows, the held rows (the base) its columns. Rows far
// longer than the others can be left out, since the error bound of the scores grows with the longest row.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/product_launch.h"

namespace kith::cuda {

/// Base rows, as values and as columns of the product. The score of a row is its score base minus its product with the
/// query. All scores are positive.
template <class T>
struct SearchBase {
  const T* values = nullptr;  // (rows, d)
  std::int64_t rows = 0, d = 0;
  std::int64_t first_row = 0;         // row number of the first row
  const uint4* tiles = nullptr;       // full-width tiles of fp16_rows.h
  const float* score_base = nullptr;  // (rows, padded), in the order of base_place_of_row
  Measure measure = Measure::squared_euclidean;
  Fp16Bound bound;
  float max_query_norm = 0.0F;  // scores of queries with a larger norm may be negative or exceed their error bound

  /// Number of tiles, which is even.
  std::int64_t tile_count() const { return row_groups_of(rows); }
};

/// Whether fp16 products of the held rows with queries give scores that rank like the measure.
template <class T>
bool has_fp16_scores(const HeldRows<T>& held, Measure measure);

/// The held rows as a base. The first search by a measure allocates the columns. Throws OutOfMemory. Asynchronous.
template <class T>
SearchBase<T> search_base(const HeldRows<T>& held, Measure measure);

/// A bound of the norms of queries, and how it limits the error of their scores.
struct QueryLimits {
  double max_query_norm = 0.0;  // in the unit of the fp16 rows
  Fp16Bound bound;
};

/// The usual limits for squared distances to rows with these norms.
template <class T>
QueryLimits usual_limits(const HeldRows<T>& held, const LargestNorms& rows);

/// Limits for squared distances between rows with these norms and queries of up to this norm.
template <class T>
QueryLimits limits_for(const HeldRows<T>& held, const LargestNorms& rows, double max_query_norm);

/// Score bases for squared distances, with the bias of the bound. Rows whose norms are above `max_row_norm` do not
/// exist. Throws OutOfMemory. Asynchronous.
template <class T>
Buffer<float> make_score_base(const HeldRows<T>& held, const Fp16Bound& bound, float max_row_norm);

/// The base without the pairs of tiles whose rows are all below row number `row`, which must not be above the last.
template <class T>
SearchBase<T> from_row(const HeldRows<T>& held, SearchBase<T> base, std::int64_t row);

/// to[i] = from[i], for `count` numbers.
template <class T>
__global__ void to_double_kernel(const T* from, std::int64_t count, double* to) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) to[i] = static_cast<double>(from[i]);
}

/// A batch of queries on the device.
struct Fp16Queries {
  Buffer<double> values;  // (queries, d)
  Fp16Rows fp16;          // of the values, multiplied by `factor` if there is one
  Buffer<double> factor;  // (queries) powers of two; only for inner products
  Buffer<Word> largest;   // (2) required by queue_fp16(), not used
};
template <class T>
Fp16Queries allocate_fp16_queries(const HeldRows<T>& held, Measure measure, std::int64_t queries);

/// Uploads `count` queries (count, d). Host memory may be reused when it returns.
template <class T>
void upload_queries(const HeldRows<T>& held, const Stream& stream, const double* values, std::int64_t count,
                    Fp16Queries& queries);

/// Rounds `count` uploaded queries to fp16. Asynchronous.
template <class T>
void round_queries(const HeldRows<T>& held, std::int64_t count, const Fp16Queries& queries);

inline constexpr std::int64_t kQueryTile = 2 * kFp16TileRows;  // queries of a thread block of the product

/// The product of `queries` queries with the base, in column ranges that keep the device busy even with few queries.
/// tiles: those of the first query, whose index is a multiple of kQueryTile.
template <class T>
Fp16Problem search_problem(const HeldRows<T>& held, const SearchBase<T>& base, const uint4* tiles,
                           std::int64_t queries);

/// The long rows of the held ones, whose tree the first call builds. They are few or none. Requires fp16 rows and
/// resident rows. Throws OutOfMemory. Asynchronous.
template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held);

/// A base of squared distances for a search whose queries have norms up to `max_query_norm`, without the long rows.
/// max_query_norm: 0 for the usual limit. score_base: memory for a limit that is not the usual. Throws OutOfMemory.
/// Asynchronous.
template <class T>
SearchBase<T> without_long_rows(const HeldRows<T>& held, double max_query_norm, Buffer<float>& score_base);

}  // namespace kith::cuda
