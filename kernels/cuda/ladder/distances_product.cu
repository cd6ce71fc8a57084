// Rungs of the ladder of distances that use |a|^2 + |b|^2 - 2 a.b: float32 products in registers, halves on tensor
// cores, and halves twice, for what the first half leaves: three products that come near float32.
//
// Each launch transposes B, measures norms and rounds, then multiplies: 2 M N K operations once or three times. Norms
// are summed in float64; what rounding took is measured, so that the bound of each element is known and not assumed.
#include <cuda_pipeline.h>

#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/distances.h"
#include "kernels/cuda/ladder/register_tile.h"

namespace kith::cuda {
namespace {

constexpr int kTurn = 32;  // side of the tiles that are transposed

/// to (columns, rows) = from (rows, columns) transposed; both sizes are multiples of kTurn.
__global__ void transpose_kernel(const float* from, int rows, int columns, float* to) {
  __shared__ float tile[kTurn][kTurn + 1];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTurn;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTurn;
  for (unsigned i = threadIdx.y; i < kTurn; i += blockDim.y) {
    tile[i][threadIdx.x] = from[(first_row + i) * columns + first_column + threadIdx.x];
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < kTurn; i += blockDim.y) {
    to[(first_column + i) * rows + first_row + threadIdx.x] = tile[threadIdx.x][i];
  }
}

struct Measured {
  float* square;    // |x|^2
  float* norm;      // |x|, and the next two: rounded up
  float* residual;  // |x - x^|
  float* low_norm;  // |low half of x^|
  __half* high;     // null: no halves are wanted
  __half* low;      // null: one half is all
};

__device__ float norm_above(double squares) { return static_cast<float>(sqrt(squares) * (1 + 1e-6)); }

/// A warp has a vector.
__global__ void measure_kernel(const float* vectors, int count, int depth, Measured to) {
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    double squares = 0.0, lost = 0.0, low_squares = 0.0;
    for (int j = lane_index(); j < depth; j += kWarp) {
      const std::int64_t at = i * depth + j;
      const float value = vectors[at];
      squares += static_cast<double>(value) * value;
      if (to.high == nullptr) continue;
      const __half high = __float2half_rn(value);
      float rest = value - __half2float(high);
      to.high[at] = high;
      if (to.low != nullptr) {
        const __half low = __float2half_rn(rest);
        to.low[at] = low;
        const float as_float = __half2float(low);
        low_squares += static_cast<double>(as_float) * as_float;
        rest -= as_float;
      }
      lost += static_cast<double>(rest) * rest;
    }
    squares = lanes_total(squares);
    lost = lanes_total(lost);
    low_squares = lanes_total(low_squares);
    if (lane_index() != 0) continue;
    to.square[i] = static_cast<float>(squares);
    to.norm[i] = norm_above(squares);
    to.residual[i] = norm_above(lost);
    to.low_norm[i] = norm_above(low_squares);
  }
}

/// |a|^2 + |b|^2 - 2 a.b from their squares and the product; what rounding made negative is 0.
__device__ float distance_of(float a_square, float b_square, float product) {
  const float distance = (a_square + b_square) - 2.0F * product;
  return distance < 0.0F ? 0.0F : distance;
}

struct FloatProducts {
  const float* a_square;
  const float* b_square;
  __device__ float add(float sum, float a, float b) const { return fmaf(a, b, sum); }
  __device__ float finish(float sum, std::int64_t row, std::int64_t column) const {
    return distance_of(a_square[row], b_square[column], sum);
  }
};

// Products on tensor cores: tiles of 128 x 128 elements, 32 columns of the operands at a time, which arrive in shared
// memory while earlier ones are multiplied. Eight warps have 64 x 32 elements each.
constexpr int kDeep = 32;                           // halves of a vector in a stage
constexpr int kStages = 3;                          // in flight
constexpr int kUnit = 8;                            // halves of a 16-byte copy
constexpr int kTileHalves = kDistanceTile * kDeep;  // of one operand in a stage
constexpr unsigned kWarpRows = 64, kWarpColumns = 32;
constexpr unsigned kWarpsAcross = kDistanceTile / kWarpColumns;
static_assert(kDistanceTile / kWarpRows * kWarpsAcross == kBlockWarps, "the warps share the tile");

struct HalfOperands {
  const __half* a[2];  // (rows, depth) high and low
  const __half* b[2];  // (columns, depth)
  const float* a_square;
  const float* b_square;
};

/// Where unit `unit` of a row lies in its tile: rows that a load takes together fall into different banks.
__device__ unsigned place_of(unsigned row, unsigned unit) { return row * kDeep + (unit ^ (row / 2 % 4)) * kUnit; }

__device__ void fetch_tile(__half* to, const __half* from, int depth) {
  constexpr unsigned kUnits = kDeep / kUnit, kRowsAtOnce = kBlock / kUnits;
  const unsigned row = threadIdx.x / kUnits, unit = threadIdx.x % kUnits;
  from += static_cast<std::int64_t>(row) * depth + unit * kUnit;
#pragma unroll
  for (unsigned more = 0; more < kDistanceTile; more += kRowsAtOnce) {
    __pipeline_memcpy_async(to + place_of(row + more, unit), from + static_cast<std::int64_t>(more) * depth, 16);
  }
}

/// 16 vectors of a tile, 16 of their halves each: rows of A, or two groups of eight columns of B.
__device__ void load_vectors(unsigned (&to)[4], const __half* tile, unsigned first_row, unsigned first_unit) {
  const unsigned lane = threadIdx.x % kWarp;
  const __half* from = tile + place_of(first_row + lane % 16, first_unit + lane / 16);
  load_rows_16x16(to, static_cast<std::uint32_t>(__cvta_generic_to_shared(from)));
}

/// 16 rows of A times this warp's 32 columns of B.
__device__ void multiply_rows(float (&sum)[4][4], const unsigned (&a)[4], const unsigned (&b)[2][4]) {
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const unsigned* columns = &b[n / 2][n % 2];
    multiply_16x8x16(sum[n], make_uint2(a[0], a[2]), make_uint2(a[1], a[3]), make_uint2(columns[0], columns[2]));
  }
}

/// kParts 1: high halves only; 2: high x high, high x low and low x high.
template <int kParts>
__global__ void __launch_bounds__(kBlock, 2) half_kernel(DistanceProblem p, HalfOperands operands) {
  extern __shared__ __align__(128) __half room[];  // [stage][A then B][part][128][32]
  constexpr int kStageHalves = 2 * kParts * kTileHalves;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  const int steps = p.depth / kDeep;
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned warp_row = warp / kWarpsAcross * kWarpRows, warp_column = warp % kWarpsAcross * kWarpColumns;

  const auto fetch = [&](int step) {
    if (step < steps) {
      __half* stage = room + step % kStages * kStageHalves;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        fetch_tile(stage + part * kTileHalves, operands.a[part] + first_row * p.depth + step * kDeep, p.depth);
        fetch_tile(stage + (kParts + part) * kTileHalves, operands.b[part] + first_column * p.depth + step * kDeep,
                   p.depth);
      }
    }
    __pipeline_commit();
  };

  float sum[4][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();            // the stage is there for all, and the one before is free
    fetch(step + kStages - 1);  // takes the place of the one before
    const __half* a_tile = room + step % kStages * kStageHalves;
    const __half* b_tile = a_tile + kParts * kTileHalves;
#pragma unroll
    for (unsigned unit = 0; unit < kDeep / kUnit; unit += 2) {
      unsigned a[4], b[kParts][2][4];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        load_vectors(b[part][0], b_tile + part * kTileHalves, warp_column, unit);
        load_vectors(b[part][1], b_tile + part * kTileHalves, warp_column + 16, unit);
      }
#pragma unroll
      for (unsigned m = 0; m < 4; ++m) {
        load_vectors(a, a_tile, warp_row + m * 16, unit);
#pragma unroll
        for (int part = 0; part < kParts; ++part) multiply_rows(sum[m], a, b[part]);
        if constexpr (kParts == 2) {
          load_vectors(a, a_tile + kTileHalves, warp_row + m * 16, unit);
          multiply_rows(sum[m], a, b[0]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < 4; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first_row + warp_row + m * 16 + half * 8 + lane_index() / 4;
      const float a_square = operands.a_square[row];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const std::int64_t column = first_column + warp_column + n * 8 + lane_index() % 4 * 2;
        *reinterpret_cast<float2*>(p.out + row * p.columns + column) =
            make_float2(distance_of(a_square, operands.b_square[column], sum[m][n][half * 2]),
                        distance_of(a_square, operands.b_square[column + 1], sum[m][n][half * 2 + 1]));
      }
    }
  }
}

}  // namespace

void ProductOperands::Side::take(Pool& pool, std::int64_t vectors, std::int64_t depth) {
  for (Buffer<float>* buffer : {&square, &norm, &residual, &low_norm}) *buffer = Buffer<float>(pool, vectors);
  for (Buffer<__half>* buffer : {&high, &low}) *buffer = Buffer<__half>(pool, vectors * depth);
}

ProductOperands::ProductOperands(Context& context, const DistanceProblem& problem)
    : context_(context), problem_(problem), turned_(context.pool, std::int64_t{problem.columns} * problem.depth) {
  a_.take(context.pool, problem.rows, problem.depth);
  b_.take(context.pool, problem.columns, problem.depth);
}

void ProductOperands::measure(const Side& side, const float* vectors, int count, Parts parts) const {
  const Measured to{side.square.data(),
                    side.norm.data(),
                    side.residual.data(),
                    side.low_norm.data(),
                    parts != Parts::none ? side.high.data() : nullptr,
                    parts == Parts::two ? side.low.data() : nullptr};
  measure_kernel<<<context_.grid(count, kBlockWarps), kBlock, 0, context_.stream>>>(vectors, count, problem_.depth, to);
}

void ProductOperands::prepare(Parts parts) const {
  const dim3 tiles(problem_.columns / kTurn, problem_.depth / kTurn);
  transpose_kernel<<<tiles, dim3(kTurn, 8), 0, context_.stream>>>(problem_.b, problem_.depth, problem_.columns,
                                                                  turned_.data());
  measure(a_, problem_.a, problem_.rows, parts);
  measure(b_, turned_.data(), problem_.columns, parts);
}

template <int kParts>
void ProductOperands::multiply() const {
  constexpr int kRoom = kStages * 2 * kParts * kTileHalves * static_cast<int>(sizeof(__half));
  check(cudaFuncSetAttribute(half_kernel<kParts>, cudaFuncAttributeMaxDynamicSharedMemorySize, kRoom));
  const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
  const HalfOperands operands{
      {a_.high.data(), a_.low.data()}, {b_.high.data(), b_.low.data()}, a_.square.data(), b_.square.data()};
  half_kernel<kParts><<<tiles, kBlock, kRoom, context_.stream>>>(problem_, operands);
}

void ProductOperands::by_float_products() const {
  prepare(Parts::none);
  const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
  register_kernel<<<tiles, kBlock, 0, context_.stream>>>(problem_, FloatProducts{a_.square.data(), b_.square.data()});
}

void ProductOperands::by_halves() const {
  prepare(Parts::one);
  multiply<1>();
}

void ProductOperands::by_split_halves() const {
  prepare(Parts::two);
  multiply<2>();
}

DistanceBound ProductOperands::bound(Parts parts) const {
  constexpr double kSafe = 1.01;  // for what the bound itself rounds, and roundings of roundings
  const double depth = problem_.depth;
  const auto norms = [&](const Side& side) -> OperandNorms {
    return {side.norm.data(), parts != Parts::none ? side.residual.data() : nullptr,
            parts == Parts::two ? side.low_norm.data() : nullptr};
  };
  // Tensor cores truncate: 2^-23 for each of 16 products and the sum so far. Float32 additions round: 2^-24 each.
  const double products = parts == Parts::two ? 3.0 : 1.0;
  const double accumulation = parts == Parts::none ? (depth + 1) * 0x1p-24 : products * depth / 16 * 17 * 0x1p-23;
  return {.relative = 0.0,
          .accumulation = accumulation * kSafe,
          .ends = 4 * 0x1p-24 * kSafe,
          .a = norms(a_),
          .b = norms(b_)};
}

}  // namespace kith::cuda
