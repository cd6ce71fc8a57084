// The ladder of full distance matrices: its problem and how its answers are bounded; distances.cu has the rungs by
// differences, distances_product.cu those by matrix products.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/ladder/ladder.h"

namespace kith::cuda {

/// Squared distances of the rows of a (rows, depth) and the columns of b (depth, columns), both row-major.
struct DistanceProblem {
  int rows = 0, depth = 0, columns = 0;  // multiples of kDistanceTile
  const float* a = nullptr;              // (rows, depth)
  const float* b = nullptr;              // (depth, columns)
  float* out = nullptr;                  // (rows, columns)
};
inline constexpr int kDistanceTile = 128;

/// Norms of the vectors of one operand, rounded up: |x|, |x - x^| of what rounding to halves took, |low half of x^|.
/// Null stands for zeros.
struct OperandNorms {
  const float* norm = nullptr;
  const float* residual = nullptr;
  const float* low = nullptr;

  __device__ static double read(const float* norms, std::int64_t i) { return norms != nullptr ? norms[i] : 0.0; }
  /// No less than the norms of the halves together.
  __device__ double largest(std::int64_t i) const { return read(norm, i) + read(residual, i) + 2 * read(low, i); }
};

/// How far an element may be from its distance D. The terms are those of docs/contract.md, Screens: what rounding to
/// halves took, products of low halves that are left out, accumulation; and the rounding of norms and final additions.
struct DistanceBound {
  double relative = 0.0;      // of D
  double accumulation = 0.0;  // of |a| |b|
  double ends = 0.0;          // of |a|^2 + |b|^2
  OperandNorms a{}, b{};

  __device__ double at(double exact, std::int64_t row, std::int64_t column) const {
    const double of_a = a.largest(row), of_b = b.largest(column);
    const double rounded = OperandNorms::read(a.residual, row) * of_b + of_a * OperandNorms::read(b.residual, column);
    const double left_out = OperandNorms::read(a.low, row) * OperandNorms::read(b.low, column);
    return relative * exact + 2 * (rounded + left_out + accumulation * of_a * of_b) +
           ends * (of_a * of_a + of_b * of_b);
  }
};

/// Norms, and the rungs that need them; made anew by each launch, since that is part of the rung's work.
class ProductOperands {
 public:
  /// Throws OutOfMemory. The context outlives it.
  ProductOperands(Context& context, const DistanceProblem& problem);

  // Each fills problem.out.
  void by_float_products() const;
  void by_halves() const;
  void by_split_halves() const;

  // How far its elements may be from the definition, once it has run.
  DistanceBound float_bound() const { return bound(Parts::none); }
  DistanceBound half_bound() const { return bound(Parts::one); }
  DistanceBound split_bound() const { return bound(Parts::two); }

 private:
  /// One operand as vectors: halves, and for split values a second half of what the first one left.
  struct Side {
    Buffer<float> square, norm, residual, low_norm;
    Buffer<__half> high, low;  // (vectors, depth)
    void take(Pool& pool, std::int64_t vectors, std::int64_t depth);
  };
  enum class Parts { none = 0, one = 1, two = 2 };

  /// Brings both operands into the form that products need.
  void prepare(Parts parts) const;
  void measure(const Side& side, const float* vectors, int count, Parts parts) const;
  template <int kParts>
  void multiply() const;
  DistanceBound bound(Parts parts) const;

  Context& context_;
  DistanceProblem problem_;
  Buffer<float> turned_;  // (columns, depth) b transposed
  Side a_, b_;
};

}  // namespace kith::cuda
