// The two sides of a search on tensor cores: base rows as columns of the product of fp16, and queries as its rows.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/screen/fp16_columns.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/product_launch.h"

namespace kith::cuda {

/// Base rows, as values and as columns of the product. A score is what is added for the row less its product with the
/// query; all are positive.
template <class T>
struct SearchBase {
  const T* values = nullptr;  // (rows, d)
  std::int64_t rows = 0, d = 0;
  std::int64_t first_row = 0;         // row number of the first
  const uint4* tiles = nullptr;       // whole tiles of fp16_rows.h
  const float* score_base = nullptr;  // (rows, padded), in the order of base_place_of_row
  Measure measure = Measure::squared_euclidean;
  Fp16Bound bound;
  float reach = 0.0F;  // scores of queries with a larger norm are not positive, or not bounded

  /// Tiles of base rows, an even number.
  std::int64_t tiles() const { return row_groups_of(rows); }
};

/// Whether all held rows can be multiplied with queries in half precision, for scores that rank as the measure does.
template <class T>
bool multiplies_base(const HeldRows<T>& held, Measure measure);

/// The held rows, whose columns are made for the first search by a measure. Throws OutOfMemory. Queues only.
template <class T>
SearchBase<T> search_base(const HeldRows<T>& held, Measure measure);

/// The base without rows below number `row`, which is at most that of its last: whole pairs of tiles are left out.
template <class T>
SearchBase<T> from_row(const HeldRows<T>& held, SearchBase<T> base, std::int64_t row);

/// to[i] = from[i], for `count` numbers.
template <class T>
__global__ void doubles_kernel(const T* from, std::int64_t count, double* to) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) to[i] = static_cast<double>(from[i]);
}

/// A batch of queries on the device.
struct Fp16Queries {
  Buffer<double> values;  // (queries, d)
  Fp16Rows fp16;          // of products: of rows of which each was multiplied by its factor
  Buffer<double> factor;  // (queries) powers of two; empty but for inner products
  Buffer<float> narrow;   // (queries, d) as they arrive where they are float32
  bool is_narrow = false;
  Buffer<Word> largest;  // that nobody asks for
};
template <class T>
Fp16Queries allocate_fp16_queries(const HeldRows<T>& held, Measure measure, std::int64_t queries);

/// Sends `count` queries (count, d) on their way. Host memory may be reused when it returns.
template <class T>
void send_queries(const HeldRows<T>& held, const Stream& stream, const double* values, std::int64_t count,
                  Fp16Queries& queries);

/// Makes fp16 of `count` queries that have arrived. Queues only.
template <class T>
void round_queries(const HeldRows<T>& held, std::int64_t count, const Fp16Queries& queries);

inline constexpr std::int64_t kQueryTile = 2 * kFp16TileRows;  // queries of a block of the product

/// The product of `queries` queries, from a multiple of kQueryTile on, with the base, in runs of columns that keep the
/// device busy however few the queries.
template <class T>
Fp16Problem search_problem(const HeldRows<T>& held, const SearchBase<T>& base, const uint4* tiles,
                           std::int64_t queries);

}  // namespace kith::cuda
