// The rungs of the ladder of distances that use |a|^2 + |b|^2 - 2 a.b: float32 products in registers; fp16 products on
// tensor cores; and split products, three fp16 products of high and low parts whose precision is close to float32.
//
// Each launch transposes B, computes norms and fp16 values, then multiplies: 2 M N K operations once or three times.
// Norms and rounding errors are summed in float64, so that the error bound of each element is measured, not assumed.
#include "bench/ladders/cuda/distances.h"
#include "bench/ladders/cuda/tensor_tile.h"
#include "bench/ladders/cuda/tiles.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

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

/// fp16 products, added in float32.
struct Fp16Products {
  using Sum = float;
  using Pair = float2;
  __device__ static void multiply(Sum* sum, uint2 upper_row, uint2 lower_row, uint2 b) {
    multiply_16x8x16(sum, upper_row, lower_row, b);
  }
  __device__ static Sum finish(Sum a_square, Sum b_square, Sum product) {
    return distance_of(a_square, b_square, product);
  }
};

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
  launch_transpose(context_, problem_.b, problem_.depth, problem_.columns, transposed_b_.data());
  measure(a_, problem_.a, problem_.rows, parts);
  measure(b_, transposed_b_.data(), problem_.columns, parts);
}

template <int kParts>
void ProductOperands::multiply() const {
  const auto words = [](const Buffer<__half>& values) { return reinterpret_cast<const std::uint16_t*>(values.data()); };
  launch_tensor_tiles<Fp16Products, kParts>(context_, problem_.rows,
                                            {{words(a_.high), words(a_.low)},
                                             {words(b_.high), words(b_.low)},
                                             a_.square.data(),
                                             b_.square.data(),
                                             problem_.depth,
                                             problem_.columns,
                                             problem_.out});
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
