// The rungs of the ladder of distances that use |a|^2 + |b|^2 - 2 a.b: float32 products in registers; fp16 products on
// tensor cores; and split products, three fp16 products of high and low parts whose precision is close to float32.
//
// Each launch transposes B, computes norms and fp16 values, then multiplies: 2 M N K operations once or three times.
// Norms and rounding errors are summed in float64, so that the error bound of each element is measured, not assumed.
#include <cuda_pipeline.h>

#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/distances.h"
#include "kernels/cuda/ladder/register_tile.h"

namespace kith::cuda {
namespace {

constexpr int kTransposeSide = 32;  // rows, and columns, of a transposed tile

/// to (columns, rows) = from (rows, columns) transposed; both sizes are multiples of kTransposeSide.
__global__ void transpose_kernel(const float* from, int rows, int columns, float* to) {
  __shared__ float tile[kTransposeSide][kTransposeSide + 1];
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTransposeSide;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTransposeSide;
  for (unsigned i = threadIdx.y; i < kTransposeSide; i += blockDim.y) {
    tile[i][threadIdx.x] = from[(first_row + i) * columns + first_column + threadIdx.x];
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < kTransposeSide; i += blockDim.y) {
    to[(first_column + i) * rows + first_row + threadIdx.x] = tile[threadIdx.x][i];
  }
}

struct MeasureOutput {
  float* square;    // |x|^2
  float* norm;      // |x|, rounded up
  float* residual;  // |x - x^|, rounded up
  float* low_norm;  // |low part of x^|, rounded up
  __half* high;     // null: x^ = x
  __half* low;      // null: x^ has only its high part
};

__device__ float norm_above(double squares) { return static_cast<float>(sqrt(squares) * (1 + 1e-6)); }

/// One warp per vector.
__global__ void measure_kernel(const float* vectors, int count, int depth, MeasureOutput to) {
  for (std::int64_t i = warp_index(); i < count; i += warp_count()) {
    double squares = 0.0, residual_squares = 0.0, low_squares = 0.0;
    for (int j = lane_index(); j < depth; j += kWarp) {
      const std::int64_t at = i * depth + j;
      const float value = vectors[at];
      squares += static_cast<double>(value) * value;
      if (to.high == nullptr) continue;
      const __half high = __float2half_rn(value);
      float remainder = value - __half2float(high);
      to.high[at] = high;
      if (to.low != nullptr) {
        const __half low = __float2half_rn(remainder);
        to.low[at] = low;
        const float low_value = __half2float(low);
        low_squares += static_cast<double>(low_value) * low_value;
        remainder -= low_value;
      }
      residual_squares += static_cast<double>(remainder) * remainder;
    }
    squares = lanes_total(squares);
    residual_squares = lanes_total(residual_squares);
    low_squares = lanes_total(low_squares);
    if (lane_index() != 0) continue;
    to.square[i] = static_cast<float>(squares);
    to.norm[i] = norm_above(squares);
    to.residual[i] = norm_above(residual_squares);
    to.low_norm[i] = norm_above(low_squares);
  }
}

/// |a|^2 + |b|^2 - 2 a.b from the squares and the product, and 0 if rounding made it negative.
__device__ float distance_of(float a_square, float b_square, float product) {
  const float distance = (a_square + b_square) - 2.0F * product;
  return distance < 0.0F ? 0.0F : distance;
}

struct Float32Products {
  const float* a_square;
  const float* b_square;
  __device__ float add(float sum, float a, float b) const { return fmaf(a, b, sum); }
  __device__ float finish(float sum, std::int64_t row, std::int64_t column) const {
    return distance_of(a_square[row], b_square[column], sum);
  }
};

// Products on tensor cores: tiles of 128 x 128 elements, 32 columns of the operands per stage. Asynchronous copies fill
// later stages while an earlier one is multiplied. Each of the eight warps computes 64 x 32 elements.
constexpr int kDepth = 32;                           // values of a vector in a stage
constexpr int kStages = 3;                           // stages in shared memory
constexpr int kChunk = 8;                            // fp16 values of a 16-byte chunk
constexpr int kTileValues = kDistanceTile * kDepth;  // values of one operand part in a stage
constexpr unsigned kWarpRows = 64, kWarpColumns = 32;
constexpr unsigned kWarpsAcross = kDistanceTile / kWarpColumns;
static_assert(kDistanceTile / kWarpRows * kWarpsAcross == kBlockWarps, "the warps cover the tile");

struct Fp16Operands {
  const __half* a[2];  // (rows, depth) high and low parts
  const __half* b[2];  // (columns, depth)
  const float* a_square;
  const float* b_square;
};

/// Offset of a chunk of a row in its tile, permuted so that the rows of one load are in different banks.
__device__ unsigned offset_of(unsigned row, unsigned chunk) { return row * kDepth + (chunk ^ (row / 2 % 4)) * kChunk; }

__device__ void fetch_tile(__half* to, const __half* from, int depth) {
  constexpr unsigned kChunks = kDepth / kChunk, kRowsAtOnce = kBlock / kChunks;
  const unsigned row = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
  from += static_cast<std::int64_t>(row) * depth + chunk * kChunk;
#pragma unroll
  for (unsigned offset = 0; offset < kDistanceTile; offset += kRowsAtOnce) {
    __pipeline_memcpy_async(to + offset_of(row + offset, chunk), from + static_cast<std::int64_t>(offset) * depth, 16);
  }
}

/// Loads 16 values of each of 16 vectors of a tile: rows of A, or two groups of eight columns of B.
__device__ void load_vectors(unsigned (&to)[4], const __half* tile, unsigned first_row, unsigned first_chunk) {
  const unsigned lane = threadIdx.x % kWarp;
  const __half* from = tile + offset_of(first_row + lane % 16, first_chunk + lane / 16);
  load_rows_16x16(to, static_cast<std::uint32_t>(__cvta_generic_to_shared(from)));
}

/// Multiplies 16 rows of A by this warp's 32 columns of B.
__device__ void multiply_rows(float (&sum)[4][4], const unsigned (&a)[4], const unsigned (&b)[2][4]) {
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const unsigned* columns = &b[n / 2][n % 2];
    multiply_16x8x16(sum[n], make_uint2(a[0], a[2]), make_uint2(a[1], a[3]), make_uint2(columns[0], columns[2]));
  }
}

/// kParts 1: high x high; 2: high x high, high x low and low x high.
template <int kParts>
__global__ void __launch_bounds__(kBlock, 2) fp16_kernel(DistanceProblem p, Fp16Operands operands) {
  extern __shared__ __align__(128) __half shared[];  // [stage][A, B][part][128][32]
  constexpr int kStageValues = 2 * kParts * kTileValues;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kDistanceTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kDistanceTile;
  const int steps = p.depth / kDepth;
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned warp_row = warp / kWarpsAcross * kWarpRows, warp_column = warp % kWarpsAcross * kWarpColumns;

  const auto fetch = [&](int step) {
    if (step < steps) {
      __half* stage = shared + step % kStages * kStageValues;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        fetch_tile(stage + part * kTileValues, operands.a[part] + first_row * p.depth + step * kDepth, p.depth);
        fetch_tile(stage + (kParts + part) * kTileValues, operands.b[part] + first_column * p.depth + step * kDepth,
                   p.depth);
      }
    }
    __pipeline_commit();
  };

  float sum[4][4][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();            // the stage has arrived for all threads, and the one before has been read
    fetch(step + kStages - 1);  // overwrites the one before
    const __half* a_tile = shared + step % kStages * kStageValues;
    const __half* b_tile = a_tile + kParts * kTileValues;
#pragma unroll
    for (unsigned chunk = 0; chunk < kDepth / kChunk; chunk += 2) {
      unsigned a[4], b[kParts][2][4];
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        load_vectors(b[part][0], b_tile + part * kTileValues, warp_column, chunk);
        load_vectors(b[part][1], b_tile + part * kTileValues, warp_column + 16, chunk);
      }
#pragma unroll
      for (unsigned m = 0; m < 4; ++m) {
        load_vectors(a, a_tile, warp_row + m * 16, chunk);
#pragma unroll
        for (int part = 0; part < kParts; ++part) multiply_rows(sum[m], a, b[part]);
        if constexpr (kParts == 2) {
          load_vectors(a, a_tile + kTileValues, warp_row + m * 16, chunk);
          multiply_rows(sum[m], a, b[0]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < 4; ++m) {
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      const std::int64_t row = first_row + warp_row + m * 16 + upper * 8 + lane_index() / 4;
      const float a_square = operands.a_square[row];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const std::int64_t column = first_column + warp_column + n * 8 + lane_index() % 4 * 2;
        *reinterpret_cast<float2*>(p.out + row * p.columns + column) =
            make_float2(distance_of(a_square, operands.b_square[column], sum[m][n][upper * 2]),
                        distance_of(a_square, operands.b_square[column + 1], sum[m][n][upper * 2 + 1]));
      }
    }
  }
}

}  // namespace

void ProductOperands::Operand::allocate(Pool& pool, std::int64_t vectors, std::int64_t depth) {
  for (Buffer<float>* buffer : {&square, &norm, &residual, &low_norm}) *buffer = Buffer<float>(pool, vectors);
  for (Buffer<__half>* buffer : {&high, &low}) *buffer = Buffer<__half>(pool, vectors * depth);
}

ProductOperands::ProductOperands(Context& context, const DistanceProblem& problem)
    : context_(context), problem_(problem), transposed_b_(context.pool, std::int64_t{problem.columns} * problem.depth) {
  a_.allocate(context.pool, problem.rows, problem.depth);
  b_.allocate(context.pool, problem.columns, problem.depth);
}

void ProductOperands::measure(const Operand& operand, const float* vectors, int count, Fp16Parts parts) const {
  const MeasureOutput to{operand.square.data(),
                         operand.norm.data(),
                         operand.residual.data(),
                         operand.low_norm.data(),
                         parts != Fp16Parts::none ? operand.high.data() : nullptr,
                         parts == Fp16Parts::two ? operand.low.data() : nullptr};
  measure_kernel<<<context_.grid(count, kBlockWarps), kBlock, 0, context_.stream>>>(vectors, count, problem_.depth, to);
}

void ProductOperands::prepare(Fp16Parts parts) const {
  const dim3 tiles(problem_.columns / kTransposeSide, problem_.depth / kTransposeSide);
  transpose_kernel<<<tiles, dim3(kTransposeSide, 8), 0, context_.stream>>>(problem_.b, problem_.depth, problem_.columns,
                                                                           transposed_b_.data());
  measure(a_, problem_.a, problem_.rows, parts);
  measure(b_, transposed_b_.data(), problem_.columns, parts);
}

template <int kParts>
void ProductOperands::multiply() const {
  constexpr int kSharedBytes = kStages * 2 * kParts * kTileValues * static_cast<int>(sizeof(__half));
  check(cudaFuncSetAttribute(fp16_kernel<kParts>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
  const Fp16Operands operands{
      {a_.high.data(), a_.low.data()}, {b_.high.data(), b_.low.data()}, a_.square.data(), b_.square.data()};
  fp16_kernel<kParts><<<tiles, kBlock, kSharedBytes, context_.stream>>>(problem_, operands);
}

void ProductOperands::by_float32_products() const {
  prepare(Fp16Parts::none);
  const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
  register_kernel<<<tiles, kBlock, 0, context_.stream>>>(problem_, Float32Products{a_.square.data(), b_.square.data()});
}

void ProductOperands::by_fp16_products() const {
  prepare(Fp16Parts::one);
  multiply<1>();
}

void ProductOperands::by_split_products() const {
  prepare(Fp16Parts::two);
  multiply<2>();
}

DistanceBound ProductOperands::bound(Fp16Parts parts) const {
  constexpr double kSafe = 1.01;  // covers the rounding of the bound itself and second-order terms
  const double depth = problem_.depth;
  const auto norms = [&](const Operand& operand) -> OperandNorms {
    return {operand.norm.data(), parts != Fp16Parts::none ? operand.residual.data() : nullptr,
            parts == Fp16Parts::two ? operand.low_norm.data() : nullptr};
  };
  // Tensor cores truncate: 2^-23 for each of 16 products and the running sum. Float32 additions round: 2^-24 each.
  const double products = parts == Fp16Parts::two ? 3.0 : 1.0;
  const double accumulation = parts == Fp16Parts::none ? (depth + 1) * 0x1p-24 : products * depth / 16 * 17 * 0x1p-23;
  return {.relative = 0.0,
          .accumulation = accumulation * kSafe,
          .additions = 4 * 0x1p-24 * kSafe,
          .a = norms(a_),
          .b = norms(b_)};
}

}  // namespace kith::cuda
