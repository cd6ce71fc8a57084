// Bounds of one assignment: the shifts of the centroids, at the cost of k distances.
#include "kernels/cpu/assign/labels.h"

#include <cmath>
#include <utility>

#include "kernels/cpu/choice/assignment.h"

namespace kith::cpu {
namespace {

/// An upper bound of |x'| of every row, from the bounding box of the rows.
double largest_norm(const DataPlan& plan) {
  const double scale = power_of_two(-plan.screen.exponent);
  double squares = 0.0;
  for (std::size_t j = 0; j < plan.screen.center.size(); ++j) {
    const double center = plan.screen.center[j];
    const double farthest =
        std::max(std::abs(plan.range.minimum[j] * scale - center), std::abs(plan.range.maximum[j] * scale - center));
    squares += farthest * farthest;
  }
  return std::sqrt(squares) * (1 + 0x1p-20);
}

}  // namespace

template <class T>
BoundWorkspace::BoundWorkspace(HeldRows<T>& held, MatrixView<const double> centroids, double largest_centroid) {
  LabelBounds& bounds = held.bounds;
  const std::int64_t k = centroids.rows, d = centroids.columns;
  if (k == 1 || !bounds_are_due(held.observed)) {
    held.skip_bounds();
    return;
  }
  known_ = std::exchange(bounds.clusters, 0) == k;
  bounds.bound.resize(static_cast<std::size_t>(held.rows()));
  shift_.resize(static_cast<std::size_t>(k));
  if (bounds.centroids.size() != k * d) bounds.centroids = Matrix<double>(k, d);
  constexpr std::int64_t kCentroidsPerTask = 256;
  held.threads.run(ceil_div(k, kCentroidsPerTask), [&](std::int64_t task, int) {
    for (std::int64_t c = task * kCentroidsPerTask; c < std::min((task + 1) * kCentroidsPerTask, k); ++c) {
      const double* now = centroids.row(c).data();
      double* before = bounds.centroids.row(c).data();
      if (known_) {
        const double squared_move = held.set.template rows<double>().distance(now, before, d);
        shift_[static_cast<std::size_t>(c)] = shift_bound(squared_move, d, held.scale());
      }
      std::copy_n(now, d, before);
    }
  });
  for (std::int64_t c = 0; c < k; ++c) {
    const float move = shift_[static_cast<std::size_t>(c)];
    if (move > largest_shift_) {
      second_shift_ = largest_shift_;
      largest_shift_ = move;
      most_shifted_ = static_cast<std::int32_t>(c);
    } else {
      second_shift_ = std::max(second_shift_, move);
    }
  }
  guard_ = bound_guard(largest_norm(held.plan) + largest_centroid, d);
}

template <class T>
void BoundWorkspace::finish(HeldRows<T>& held, std::int64_t screened) const {
  const auto k = static_cast<std::int64_t>(shift_.size());
  held.bounds.clusters = k;
  if (known_) note_bounds(held, k, held.rows() - screened);
}

#define KITH_INSTANTIATE(T)                                                                \
  template BoundWorkspace::BoundWorkspace(HeldRows<T>&, MatrixView<const double>, double); \
  template void BoundWorkspace::finish(HeldRows<T>&, std::int64_t) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
