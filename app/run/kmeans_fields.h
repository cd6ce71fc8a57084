// Packs and unpacks the states of k-means (core/kmeans/kmeans_state.h) for checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kmeans/kmeans_state.h"
#include "data/io/packed.h"

namespace kith {

template <class Archive>
void each_field(Archive& archive, Matrix<double>& matrix) {
  std::int64_t rows = matrix.rows(), columns = matrix.columns();
  std::vector<double> values(matrix.data(), matrix.data() + matrix.size());
  archive(rows, columns, values);
  if constexpr (std::is_same_v<Archive, data::Unpacker>) {
    if (rows < 0 || columns < 0 || checked_product(rows, columns, "centroids") != std::ssize(values)) {
      throw data::UnpackError();
    }
    matrix = Matrix<double>(rows, columns);
    std::copy(values.begin(), values.end(), matrix.data());
  }
}

template <class Archive>
void each_field(Archive& archive, IterationRecord& record) {
  archive(record.inertia, record.changed, record.shift, record.seconds, record.assign_seconds, record.screened,
          record.products, record.pairs, record.ambiguous, record.candidates, record.relocated);
}

template <class Archive>
void each_field(Archive& archive, RunRecord& record) {
  archive(record.run, record.inertia, record.iterations, record.stopped_by, record.empty_clusters);
}

template <class Archive>
void each_field(Archive& archive, SeedingState& state) {
  archive(state.seeds, state.candidates, state.drawn, state.rounds);
}

template <class Archive>
void each_field(Archive& archive, BatchState& state) {
  archive(state.done, state.seen, state.centroids);
}

/// The fields that do not follow from the centroids and the points.
template <class Archive>
void each_field(Archive& archive, KMeansResult& result) {
  archive(result.centroids, result.inertia, result.iterations, result.changed, result.stopped_by, result.stopped_value,
          result.shift_threshold, result.continues, result.run, result.history);
}

template <class Archive>
void each_field(Archive& archive, KMeansState& state) {
  archive(state.runs, state.best, state.seeding, state.batches, state.assigned, state.updated, state.history,
          state.continues);
}

}  // namespace kith
