// Sparse matrices, read as dense matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// A matrix in compressed rows or columns (CSR, CSC). Line i, a row or a column, has the values and indices
/// starts[i] to starts[i + 1] - 1.
struct SparseMatrix {
  enum Part { starts, indices, values };

  std::string name;    // "cells.h5ad:/X"
  std::string kind;    // "sparse by rows", in the terms of the program that wrote it
  std::string origin;  // of the starts, for messages
  bool by_columns = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  /// Opens a part, a vector. Indices and values are opened only if the starts say that there are some.
  std::function<std::unique_ptr<PointSource>(Part, const ReadOptions&)> open;
  std::string remark = {};  // for PointSource::remarks()
  std::optional<IndexedColumns> indexed = {};
  std::vector<std::string> names = {};  // of the columns of the points, or none
};

/// Opens it as a dense matrix. Throws Error(data) if it is damaged or larger than the memory that may be used.
std::unique_ptr<PointSource> open_sparse(const SparseMatrix& matrix, const ReadOptions& options);

/// Compresses a matrix whose entries come in any order, in two passes over them: count() for each, allocate(), and
/// add() for each. Indices are below 2^31.
class SparseBuilder {
 public:
  /// lines: the number of rows, or of columns if the matrix is compressed by columns. Throws as require_memory().
  SparseBuilder(std::string name, std::int64_t lines);
  void count(std::int64_t line) { ++starts_[static_cast<std::size_t>(line) + 1]; }
  /// Throws as require_memory().
  void allocate();
  void add(std::int64_t line, std::int64_t index, double value);
  /// `shape` has the sizes, the name and the order of the matrix. The builder is empty then.
  std::unique_ptr<PointSource> finish(SparseMatrix shape, const ReadOptions& options);

 private:
  std::string name_;
  std::vector<std::int64_t> starts_;  // after allocate(): starts_[i] is where line i - 1 goes on
  std::vector<std::byte> indices_, values_;
};

}  // namespace kith::data
