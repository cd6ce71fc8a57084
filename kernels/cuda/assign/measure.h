// The inertia of rows, block by block.
#pragma once

#include <cstdint>
#include <span>

#include "core/points/points.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The scales of both limbs of the inertia sums.
struct InertiaGrid {
  double first, second, low_scale;
};

/// Distances to the centroids of the labels, and their sums per cluster.
template <class T>
class Measurement {
 public:
  Measurement(const HeldRows<T>& held, const MeasureRequest& request);
  /// Measures a block. Does not wait.
  void add(HeldRows<T>& held, const Block<T>& block) const;
  /// Restores the state before add(). Does not wait.
  void forget(const HeldRows<T>& held) const;
  /// Adds the sums, once. inertia: (k). Waits.
  void add_to(const HeldRows<T>& held, std::span<Limbs> inertia) const;

 private:
  Buffer<double> centroids_;  // (k, d)
  Buffer<Word> tally_;
  std::int64_t clusters_;
  InertiaGrid grid_;
};

/// Sets the kept distance of every row of a block to that from the centroid of its label. centroids: (k, d) on the
/// device. Does not wait.
template <class T>
void measure_distances(HeldRows<T>& held, const Block<T>& block, const double* centroids);

}  // namespace kith::cuda
