// The ladder of full distance matrices: its problem and the error bounds of its results. distances.cu has the rungs
// that add squared differences, distances_product.cu those that use matrix products, distances_integers.cu those of
// integers.
#pragma once

#include <cuda_fp16.h>

#include "bench/ladders/cuda/ladder.h"

namespace kith::cuda {

/// Squared distances between the rows of a (rows, depth) and the columns of b (depth, columns), both row-major.
template <class T>
struct DistanceProblemOf {
  int rows = 0, depth = 0, columns = 0;  // multiples of kDistanceTile
  const T* a = nullptr;                  // (rows, depth)
  const T* b = nullptr;                  // (depth, columns)
  T* out = nullptr;                      // (rows, columns)

  std::string shape() const { return concat(rows, " x ", depth, ", ", columns); }
  double operations() const { return 2.0 * rows * depth * static_cast<double>(columns); }
};
using DistanceProblem = DistanceProblemOf<float>;
inline constexpr int kDistanceTile = 128;

/// Norms of the vectors x of one operand, rounded up. x^ is x rounded to fp16, or to the sum of two fp16 values, the
/// high and the low part. A null pointer stands for zeros.
struct OperandNorms {
  const float* norm = nullptr;      // |x|
  const float* residual = nullptr;  // |x - x^|
  const float* low = nullptr;       // |low part of x^|

  __device__ static double read(const float* norms, std::int64_t i) { return norms != nullptr ? norms[i] : 0.0; }
  /// An upper bound of the sum of the norms of both parts.
  __device__ double largest(std::int64_t i) const { return read(norm, i) + read(residual, i) + 2 * read(low, i); }
};

/// Largest error of an element whose distance is D. The terms are those of docs/contract.md, Screens (rounding to fp16,
/// omitted products of low parts, accumulation), and the rounding of the norms and of the final additions.
struct DistanceBound {
  double relative = 0.0;      // times D
  double accumulation = 0.0;  // times |a| |b|
  double additions = 0.0;     // times |a|^2 + |b|^2
  OperandNorms a{}, b{};

  __device__ double at(double exact, std::int64_t row, std::int64_t column) const {
    const double a_norm = a.largest(row), b_norm = b.largest(column);
    const double rounded =
        OperandNorms::read(a.residual, row) * b_norm + a_norm * OperandNorms::read(b.residual, column);
    const double omitted = OperandNorms::read(a.low, row) * OperandNorms::read(b.low, column);
    return relative * exact + 2 * (rounded + omitted + accumulation * a_norm * b_norm) +
           additions * (a_norm * a_norm + b_norm * b_norm);
  }
};

/// The rungs of integers in place of float32 values.
void climb_integer_distances(Context& context, const BenchShape& shape, const BenchRequest& request,
                             std::vector<Measurement>& measurements);

/// The rungs that use matrix products. Each launch computes the norms and the fp16 operands again: they are part of the
/// rung's work.
class ProductOperands {
 public:
  /// Throws OutOfMemory. The context must outlive the object.
  ProductOperands(Context& context, const DistanceProblem& problem);

  // Each fills problem.out.
  void by_float32_products() const;
  void by_fp16_products() const;
  void by_split_products() const;  // three fp16 products of the high and low parts

  // The error bounds of their elements; the norms are read when a bound is evaluated, after the launch.
  DistanceBound float32_bound() const { return bound(Fp16Parts::none); }
  DistanceBound fp16_bound() const { return bound(Fp16Parts::one); }
  DistanceBound split_bound() const { return bound(Fp16Parts::two); }

 private:
  /// One operand as vectors, each value an fp16 high part and, for split products, an fp16 low part.
  struct Operand {
    Buffer<float> square, norm, residual, low_norm;
    Buffer<__half> high, low;  // (vectors, depth)
    void allocate(Pool& pool, std::int64_t vectors, std::int64_t depth);
  };
  enum class Fp16Parts { none = 0, one = 1, two = 2 };

  /// Transposes B, and measures and converts both operands.
  void prepare(Fp16Parts parts) const;
  void measure(const Operand& operand, const float* vectors, int count, Fp16Parts parts) const;
  template <int kParts>
  void multiply() const;
  DistanceBound bound(Fp16Parts parts) const;

  Context& context_;
  DistanceProblem problem_;
  Buffer<float> transposed_b_;  // (columns, depth)
  Operand a_, b_;
};

}  // namespace kith::cuda
