// The screen of seeding: products of all rows with up to 32 candidates, on the tensor cores if the rows are held in
// fp16 and fp16 is less to read, otherwise in float32.
//
// The certificate is that of core/numbers/screen.h: a score above the row's limit proves that the candidate is no
// nearer than the row's nearest seed. Reading the rows bounds both kernels: 256 MB in fp16 for 10^6 x 128, 64 us at 4
// TB/s on an H200.
#include "kernels/cuda/seeding/seed_screen.h"

#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/cuda/device/ampere.h"
#include "kernels/cuda/device/tile.h"
#include "kernels/cuda/screen/float32_screen.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/screen/refinement.h"

namespace kith::cuda {
namespace {

constexpr int kTile = 8;  // candidates per matrix instruction

/// For each row, the score above which a candidate is proved to be no nearer than the minimum distance.
struct RowLimits {
  const double* min_distance;  // (rows)
  const float* half_sq_norm;   // (rows) float(|x'|^2 / 2)
  const float* norm;           // (rows) |x^|, rounded up
  const float* residual;       // (rows) |x' - x^|, rounded up; null: the margin includes it
  ScreenMargin margin;
  float per_residual;
  double scale;  // 2^-exponent of the products
  double unit;   // unit of the products / unit of half_sq_norm

  __device__ float operator()(std::int64_t row) const {
    constexpr double kRoundDown = 1 - 0x1p-22;  // covers the rounding of half_sq_norm to float32
    constexpr double kUnderflow = 0x1p-130;     // covers values below the float32 range
    const double norm_bound = static_cast<double>(half_sq_norm[row]) * unit * kRoundDown - kUnderflow;
    float row_margin = margin.at(norm[row]);
    if (residual != nullptr) row_margin = __fadd_ru(row_margin, __fmul_ru(per_residual, residual[row]));
    return score_limit(min_distance[row], scale, norm_bound, row_margin);
  }
};

struct Columns {
  const float* half_sq_norm;  // (kMostCandidates)
  unsigned existing;          // a bit for each candidate
};

/// A warp multiplies 16 rows at a time. points, candidates: tiles of fp16_rows.h. A lane loads 16 bytes of a row, eight
/// fp16 values, and passes four to each of two matrix instructions: a permutation of the columns, which does not change
/// the product because both operands use the same one.
template <int kTiles>
__global__ void fp16_near_kernel(const uint4* points, std::int64_t rows, std::int64_t depth_tiles,
                                 const uint4* candidates, Columns columns, RowLimits limits, std::uint32_t* near) {
  constexpr int kRows = 16, kChunks = kFp16TileColumns / 8;
  static_assert(kFp16TileRows % kRows == 0, "the rows of a product are rows of one tile");
  const int group = lane_index() / 4, quad = lane_index() % 4;
  float half_sq_norm[kTiles][2];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
      half_sq_norm[t][i] = columns.half_sq_norm[t * kTile + quad * 2 + i] * (1 << 2 * kFp16Shift);
  }
  for (std::int64_t base = warp_index() * kRows; base < rows; base += warp_count() * kRows) {
    const std::int64_t own_row = base + lane_index() % kRows;
    const float limit = own_row < rows ? limits(own_row) : 0.0F;
    float product[kTiles][4] = {};
    const uint4* row =
        points + (base / kFp16TileRows * depth_tiles * kFp16TileRows + base % kFp16TileRows + group) * kChunks;
    const uint4* candidate = candidates + group * kChunks;
#pragma unroll 2
    for (std::int64_t depth_tile = 0; depth_tile < depth_tiles; ++depth_tile) {
      uint4 low[2], high[2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int place = (s * 4 + quad) ^ group;  // every row of this lane is `group` modulo 8
        low[s] = __ldcs(row + place);
        high[s] = __ldcs(row + 8 * kChunks + place);
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          const uint4 c = __ldg(candidate + t * kTile * kChunks + ((s * 4 + quad) ^ group));
          multiply_16x8x16(product[t], {low[s].x, low[s].y}, {high[s].x, high[s].y}, {c.x, c.y});
          multiply_16x8x16(product[t], {low[s].z, low[s].w}, {high[s].z, high[s].w}, {c.z, c.w});
        }
      }
      row += kFp16TileRows * kChunks;
      candidate += kFp16TileRows * kChunks;
    }
    const float low_limit = __shfl_sync(kAllLanes, limit, group), high_limit = __shfl_sync(kAllLanes, limit, group + 8);
    unsigned near_low = 0, near_high = 0;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned bit = 1U << (t * kTile + quad * 2 + i);
        if (!(__fsub_rn(half_sq_norm[t][i], product[t][i]) > low_limit)) near_low |= bit;  // NaN: not proved
        if (!(__fsub_rn(half_sq_norm[t][i], product[t][2 + i]) > high_limit)) near_high |= bit;
      }
    }
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {  // combine the four lanes of a row
      near_low |= __shfl_xor_sync(kAllLanes, near_low, w);
      near_high |= __shfl_xor_sync(kAllLanes, near_high, w);
    }
    const std::int64_t written = base + group + 8 * quad;
    if (quad < 2 && written < rows) near[written] = (quad == 0 ? near_low : near_high) & columns.existing;
  }
}

/// A thread multiplies one row. candidates: (d rounded up to a multiple of 4, kTiles * kTile)
template <class T, int kTiles>
__global__ void float32_near_kernel(PointOperand<T> points, const float* candidates, Columns columns, RowLimits limits,
                                    std::uint32_t* near) {
  constexpr int kColumns = kTiles * kTile;
  for (std::int64_t row = thread_index(); row < points.rows; row += thread_count()) {
    const T* const x = points.row(row);
    const auto* c = reinterpret_cast<const float4*>(candidates);
    float product[kColumns] = {};
    for (int j = 0; j < points.d; j += kTileVector) {
      const float4 four = points.finish(points.load(x, j), j);
      const float value[kTileVector] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < kTileVector; ++i) {
#pragma unroll
        for (int t = 0; t < kColumns; t += 4, ++c) {
          const float4 c_values = __ldg(c);
          product[t] = __fmaf_rn(value[i], c_values.x, product[t]);
          product[t + 1] = __fmaf_rn(value[i], c_values.y, product[t + 1]);
          product[t + 2] = __fmaf_rn(value[i], c_values.z, product[t + 2]);
          product[t + 3] = __fmaf_rn(value[i], c_values.w, product[t + 3]);
        }
      }
    }
    const float limit = limits(row);
    unsigned near_bits = 0;
#pragma unroll
    for (int t = 0; t < kColumns; ++t) {
      if (!(__fsub_rn(__ldg(&columns.half_sq_norm[t]), product[t]) > limit)) near_bits |= 1U << t;  // NaN: not proved
    }
    near[row] = near_bits & columns.existing;
  }
}

/// A(d) of core/numbers/screen.h for the matrix instructions of a warp: the tensor cores add at least four products at
/// a time to the sum, align them to the largest of the five terms, and truncate to float32 precision or better.
double warp_accumulation(std::int64_t d) {
  const double steps = (5.0 / 4.0 * static_cast<double>(d) + 32) * 0x1p-23;
  return steps < 0.5 ? steps / (1 - steps) : std::numeric_limits<double>::infinity();
}

/// Whether reading the rows in fp16 is less work. Rows of bytes count as float32: their float32 products take longer
/// than reading their fp16 values.
template <class T>
bool fp16_is_smaller(const HeldRows<T>& held) {
  const Fp16Layout& shape = held.fp16.shape;
  const std::int64_t fp16_bytes = shape.depth_tiles * shape.tile_bytes() / kFp16TileRows;
  return held.fp16.are_kept() && shape.chunks == kRowChunks &&
         fp16_bytes < held.columns() * static_cast<std::int64_t>(sizeof(Arithmetic<T>));
}

int tiles_of(int candidates) {
  const int tiles = (candidates + kTile - 1) / kTile;
  return tiles > 2 ? 4 : tiles;  // kernels exist for 1, 2 and 4
}
static_assert(kMostCandidates == 4 * kTile);

/// launch(tiles) with the number of tiles as a compile-time constant.
template <class Launch>
void with_tiles(int candidates, const Launch& launch) {
  switch (tiles_of(candidates)) {
    case 1:
      return launch(std::integral_constant<int, 1>());
    case 2:
      return launch(std::integral_constant<int, 2>());
    default:
      return launch(std::integral_constant<int, 4>());
  }
}

}  // namespace

template <class T>
ScreenedCandidates screen_candidates(const HeldRows<T>& held, MatrixView<const double> candidates,
                                     const double* on_device) {
  const std::int64_t d = held.columns();
  const ScreenTransform& screen = held.plan.screen;
  const ScreenedRows screened = screen_rows(candidates, screen);
  ScreenedCandidates out;
  out.count = static_cast<int>(candidates.rows);
  std::vector<float> half_sq_norm = screened.half_sq_norm;
  half_sq_norm.resize(kMostCandidates, 0.0F);
  out.half_sq_norm = Buffer<float>(held.pool(), kMostCandidates);
  held.stream().upload(out.half_sq_norm.data(), half_sq_norm.data(), kMostCandidates);
  if (fp16_is_smaller(held)) {
    out.fp16 = allocate_fp16(held.pool(), out.count, held.fp16.shape);
    make_fp16_rows(held, on_device, out.count, out.fp16, 0);
    const LargestNorms& measured = out.fp16.largest;
    out.margin = screen_margin(measured, d, fp16_exponent(screen), {0.0, warp_accumulation(d)});
    out.per_residual = static_cast<float>(2.01 * measured.norm);
    return out;
  }
  const std::int64_t pitch = tiles_of(out.count) * kTile;
  std::vector<float> values((d + kTileVector - 1) / kTileVector * kTileVector * pitch, 0.0F);
  for (std::int64_t t = 0; t < out.count; ++t) {
    for (std::int64_t j = 0; j < d; ++j) values[j * pitch + t] = screened.values(t, j);
  }
  out.values = Buffer<float>(held.pool(), std::ssize(values));
  held.stream().upload(out.values.data(), values.data(), std::ssize(values));
  out.margin = tile_margin({screened.largest_norm, screened.largest_residual}, d, screen.exponent);
  return out;
}

template <class T>
void find_near(const HeldRows<T>& held, const ScreenedCandidates& candidates, const Block<T>& block, const T* values,
               std::uint32_t* near) {
  const Columns columns{candidates.half_sq_norm.data(), ~0U >> (kMostCandidates - candidates.count)};
  const bool fp16 = candidates.values.size() == 0;
  const int exponent = fp16 ? fp16_exponent(held.plan.screen) : held.plan.screen.exponent;
  RowLimits limits{held.distance.data() + block.first,
                   held.half_sq_norm.data() + block.first,
                   held.norm.data() + block.first,
                   nullptr,
                   candidates.margin,
                   candidates.per_residual,
                   power_of_two(-exponent),
                   1.0};
  if (fp16) {
    limits.norm = held.fp16.norm.data() + block.first;
    limits.residual = held.fp16.residual.data() + block.first;
    limits.unit = 1 << 2 * kFp16Shift;
    const std::int64_t depth_tiles = depth_tiles_of(held.columns());
    const uint4* points = fp16_tiles(held, block);
    with_tiles(candidates.count, [&](auto tiles) {
      fp16_near_kernel<tiles()><<<held.context->grid(block.rows, kBlockWarps * 16), kBlock, 0, held.stream()>>>(
          points, block.rows, depth_tiles, candidates.fp16.values.data(), columns, limits, near);
    });
  } else {
    with_tiles(candidates.count, [&](auto tiles) {
      float32_near_kernel<T, tiles()><<<held.context->grid(block.rows, kBlock), kBlock, 0, held.stream()>>>(
          point_operand(held, values, block.rows), candidates.values.data(), columns, limits, near);
    });
  }
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                   \
  template ScreenedCandidates screen_candidates(const HeldRows<T>&, MatrixView<const double>, const double*); \
  template void find_near(const HeldRows<T>&, const ScreenedCandidates&, const Block<T>&, const T*, std::uint32_t*);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
