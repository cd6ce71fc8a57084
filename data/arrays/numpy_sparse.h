// Sparse matrices in archives of NumPy arrays, as scipy.sparse.save_npz() and sparse.save_npz() of PyData write them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/arrays/numpy_header.h"
#include "data/format/point_source.h"

namespace kith::data {

/// The arrays of an archive, by their names without ".npy".
struct ArchiveArrays {
  std::string file;
  /// Null if there is no such array, or one that cannot be read.
  std::function<const NumpyHeader*(const std::string& name)> header;
  /// flat: an array of any number of dimensions, in row order, as a vector.
  std::function<std::unique_ptr<PointSource>(const std::string& name, const ReadOptions&, bool flat)> open;
  /// The characters of an array of text.
  std::function<std::string(const std::string& name)> text;
};

/// What `kith info` shows of a sparse matrix.
struct SparseFacts {
  std::int64_t rows = 0, columns = 0;
  std::string layout;
};

/// Whether the arrays make up a sparse matrix.
bool is_sparse(const ArchiveArrays& arrays);

/// Both throw Error(data) if the matrix is damaged or of a kind that cannot be read.
SparseFacts describe_sparse(const ArchiveArrays& arrays);
std::unique_ptr<PointSource> open_sparse_archive(const ArchiveArrays& arrays, const ReadOptions& options);

}  // namespace kith::data
