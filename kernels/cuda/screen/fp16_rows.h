// Rows in fp16 in the layout of the tensor cores, with the norm of each row's rounding error.
//
// A tile is 128 rows by 64 columns, 16 KiB: a row has 128 bytes, and chunk u (16 bytes) of row r is at place u ^ (r %
// 8) (the 128-byte swizzle), so a tile is one contiguous bulk copy. Points of up to 48 columns that are only loaded
// into registers have a single, narrower tile: a multiple of 16 columns, without a swizzle. Rows and columns beyond the
// data are zero.
//
// A few rows that are much longer than the others would widen the margin of all: assignments decide the longer rows
// apart (assign/longer_rows.h), searches measure them apart (search/fp16_operands.h).
#pragma once

#include <cstdint>

#include "core/numbers/screen.h"
#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Fp16 values are x' 2^8, where |x'| < 1 in every column: far below the limit of 65504, and normal numbers even where
/// columns are small.
inline constexpr int kFp16Shift = 8;
/// Products and squared norms are in units of 4^-kFp16Shift of those of the screen.
inline int fp16_exponent(const ScreenTransform& screen) { return screen.exponent - kFp16Shift; }

inline std::int64_t depth_tiles_of(std::int64_t columns) { return (columns + kFp16TileColumns - 1) / kFp16TileColumns; }
/// Groups of 128 rows, rounded up to an even number: two consumers take them in pairs.
inline std::int64_t row_groups_of(std::int64_t rows) {
  return (rows + 2 * kFp16TileRows - 1) / (2 * kFp16TileRows) * 2;
}

/// The layout of centroids: full tiles.
inline Fp16Layout column_shape(std::int64_t columns) { return {static_cast<int>(depth_tiles_of(columns)), kRowChunks}; }
/// The layout of points for a screen path: wgmma loads few columns into registers; the other paths need full tiles.
inline Fp16Layout point_shape(std::int64_t columns, ScreenPath path) {
  if (columns > kFp16TileColumns || path != ScreenPath::wgmma) return column_shape(columns);
  return {1, static_cast<int>((columns + kStepColumns - 1) / kStepColumns) * kStepChunks};
}

/// Centroids are permuted within the 128 of a column tile: a thread of a product has columns 2 q and 2 q + 1 of every
/// eight (q = its number modulo 4), and these are 32 consecutive centroids, a group.
inline constexpr int kGroupColumns = 32;
__host__ __device__ inline std::int64_t slot_of_column(std::int64_t c) {
  const unsigned in_tile = static_cast<unsigned>(c) % kFp16TileRows, q = in_tile / kGroupColumns,
                 i = in_tile % kGroupColumns;
  return c - in_tile + (i / 2 * 8 + q * 2 + i % 2);
}

/// Allocates fp16 rows, and norms of `norms` rows or, if 0, of these. The tiles are ordered [group of 128 rows][tile of
/// the row].
Fp16Rows allocate_fp16(Pool& pool, std::int64_t rows, Fp16Layout shape, std::int64_t norms = 0);

/// Fills rows first .. first + count - 1 of `out` from rows (count, d) on the device, includes them in out.largest, and
/// waits. `first` is a multiple of 2 * kFp16TileRows, and so is `count` except for the last rows; if `out` is filled by
/// block, these are the block.
template <class T, class X>
void make_fp16_rows(const HeldRows<T>& held, const X* rows, std::int64_t count, Fp16Rows& out, std::int64_t first);

/// The same without waiting and without out.largest. largest: (2) out, for norms_of_bits().
template <class T, class X>
void queue_fp16_rows(const HeldRows<T>& held, const X* rows, std::int64_t count, Fp16Rows& out, std::int64_t first,
                     Word* largest);

/// The norms of which the words are the bits: the largest |x'|^2 and |x' - x^|^2.
LargestNorms norms_of_bits(const Word* bits);
/// Includes norms in out.largest.
void include_largest(const LargestNorms& norms, Fp16Rows& out);

/// The tiles of a block of the held rows, which have fp16 rows. Makes them where memory has space for one block only.
/// Valid until the next call; does not wait.
template <class T>
const uint4* fp16_tiles(const HeldRows<T>& held, const Block<T>& block);

/// Tiles of gathered rows (count, d) of the held rows, to `tiles`. Does not wait.
template <class T>
void queue_fp16_tiles(const HeldRows<T>& held, const T* rows, std::int64_t count, uint4* tiles);

/// Row i of `to` = row chosen[i] of `from`; the last pair of groups is padded with zeros. Does not wait.
void gather_fp16_tiles(const Context& context, const uint4* from, const std::int32_t* chosen, Count count,
                       Fp16Layout shape, uint4* to);

/// Fills rows 0 .. count - 1 of `out` from rows (count, d) on the device, and `largest` (2) with the bits of the
/// largest |x'|^2 and |x' - x^|^2. Does not wait.
template <class T>
void queue_fp16(const HeldRows<T>& held, const double* rows, std::int64_t count, const Fp16Rows& out, Word* largest);

/// The same for rows that are not centred: each is multiplied by a power of two, factor[row], that brings its largest
/// value to [1/2, 1), and the copies hold x factor 2^kFp16Shift. Values and norms of a row whose largest value is
/// beyond 2^500 or below 2^-500 are NaN.
template <class T>
void queue_factored_fp16(const HeldRows<T>& held, const double* rows, std::int64_t count, const Fp16Rows& out,
                         Word* largest, double* factor);

/// Centroids as the second operand, in the order of slot_of_column, and their largest norms.
struct Fp16Centroids {
  Buffer<uint4> values;
  Buffer<float> half_sq_norm;  // (k) |c'|^2 / 2
  Buffer<Word> largest;        // (2) bits of the largest |c'|^2 and |c' - c^|^2
  Buffer<float> residual;      // (k) |c' - c^|, rounded up
};
Fp16Centroids allocate_fp16_centroids(Pool& pool, std::int64_t count, std::int64_t columns);

/// Fills `out` from centroids (count, d) on the device.
template <class T>
void make_fp16_centroids(const HeldRows<T>& held, const double* centroids, std::int64_t count, Fp16Centroids& out);

/// Counts the rows by the norms in fp16, of which there are `rows`. Asynchronous.
Buffer<unsigned> count_lengths(const Context& context, Pool& pool, std::int64_t rows, const Fp16Rows& fp16);

/// Sets fp16.screened, the list of longer rows, fp16.shortest_longer and fp16.usual_norm. bins: of count_lengths().
/// Waits for the device.
void limit_screened_lengths(const Context& context, Pool& pool, std::int64_t rows, const Buffer<unsigned>& bins,
                            Fp16Rows& fp16);

}  // namespace kith::cuda
