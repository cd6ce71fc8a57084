// Bounds of the distances from rows to their centroids, which an earlier relocation measured: a later one measures only
// rows that may be among the farthest.
#pragma once

#include <cstdint>

#include "core/runtime/backoff.h"
#include "kernels/cuda/assign/farthest.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The last assignment, on the device.
struct AssignedClusters {
  const double* centroids = nullptr;  // (clusters, d) to which the labels are nearest
  const Word* rows = nullptr;         // (clusters) of each cluster
  std::int64_t clusters = 0;
};

/// For one run of iterations, so that labels are always nearest to the centroids of the last assignment.
template <class T>
class FarBounds {
 public:
  /// Sets held.distance of the rows that may be among the *wanted farthest ones of clusters with several rows, and
  /// returns these rows. wanted: > 0, on the device. Queues only. Throws OutOfMemory.
  FarCandidates measure(HeldRows<T>& held, const AssignedClusters& assigned, const Word* wanted);
  /// Waits for the number of measured rows: if they were many, the next relocations measure all.
  void note_measured(const HeldRows<T>& held);

 private:
  bool allocate(const HeldRows<T>& held, std::int64_t clusters);
  void begin(const HeldRows<T>& held, const AssignedClusters& assigned);
  void measure_farthest(HeldRows<T>& held, const AssignedClusters& assigned, const Word* wanted);

  bool known_ = false;     // the bounds hold
  bool counting_ = false;  // the last measure() used them
  Backoff backoff_;
  Buffer<float> upper_, lower_;  // (n) of the distance to centroid label_, in the unit of core/kmeans/bounds.h
  Buffer<std::int32_t> label_;   // (n)
  Buffer<double> centroids_;     // (clusters, d)
  Buffer<float> shift_;          // (clusters)
  Buffer<std::int32_t> listed_;  // (n) rows to measure
  Buffer<unsigned> bins_;
  Buffer<Word> counts_;  // of the listed rows; bits of the largest lower bound
  Buffer<float> limit_;  // (1)
};

}  // namespace kith::cuda
