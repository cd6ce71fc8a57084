// Writes lists of neighbours in the formats of vector search benchmarks: BIGANN ground truth and .ivecs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/points/matrix.h"
#include "data/io/output_file.h"

namespace kith::data {

enum class NeighborFormat {
  bigann,  // the numbers of queries and neighbours as uint32, all neighbours as int32, all distances as float32
  ivecs,   // for each query the number of neighbours and the neighbours, int32; no distances
};

/// A file of `queries` lists with `neighbors` rows each, little-endian, which appears when it is complete.
/// data/arrays/vectors.h reads it. Source of the layout: benchmark/dataset_io.py of big-ann-benchmarks
/// (knn_result_read, ivecs_read).
class NeighborFile {
 public:
  struct Shape {
    std::int64_t queries = 0;
    std::int64_t neighbors = 0;
  };
  /// Row numbers must fit into int32. Throws Error(output).
  NeighborFile(const std::string& path, const OutputOptions& options, NeighborFormat format, const Shape& shape);
  ~NeighborFile();

  /// Lists of queries first_query .. first_query + rows - 1. neighbors, distances: (rows, k)
  void write(std::int64_t first_query, MatrixView<const std::int64_t> neighbors, MatrixView<const float> distances);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
