// The local screen: rows near a centroid, screened against the centroids near it.
//
// A row with a known centroid c (its label so far, or the best of a screen that could not certify it) can only be
// nearer to centroids within 2 |x - c| of c (C. Elkan: Using the triangle inequality to accelerate k-means, 2003; J.
// Newling and F. Fleuret: Fast k-means with accurate bounds, 2016). The rows of c are packed relative to c and
// multiplied with those centroids only, packed relative to c as well. The rounding errors are then relative to the
// distances from c, however far the cluster is from the mean: tight clusters are screened as well as noise is.
//
// Cost per row: packing (about d), then d per near centroid, at the speed of the screen; per centroid with rows:
// packing of its near centroids and k distances in float32.
#pragma once

#include <vector>

#include "kernels/cpu/assign/labels.h"
#include "kernels/cpu/runtime/panels.h"
#include "kernels/cpu/runtime/sorted_rows.h"

namespace kith::cpu {

template <class T>
class LocalScreen {
 public:
  LocalScreen(HeldRows<T>& held, MatrixView<const double> centroids, const ScreenKernels& kernels,
              const BoundWorkspace& bounds);
  ~LocalScreen();

  /// Labels the rows, and adds to the result. Returns the rows that are much farther from their centroid than the other
  /// rows of it, unlabelled: few, which a screen against all centroids handles better.
  std::vector<std::int64_t> run(const SortedRows& rows, Assignment& result);

 private:
  class Worker;
  HeldRows<T>& held_;
  MatrixView<const double> centroids_;
  const ScreenKernels& kernels_;
  const BoundWorkspace& bounds_;
  ScreenColumns float32_centroids_;  // for the distances between the centroids
};

}  // namespace kith::cpu
