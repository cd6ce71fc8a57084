// Sparse matrices of AnnData, 10x Genomics and MATLAB in HDF5 files, read as dense matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/format/point_source.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// A group that holds a sparse matrix with compressed rows or columns.
struct SparseGroup {
  std::string path;                     // "/X"
  const char* kind = "";                // "sparse by rows", in the terms of the program that wrote it
  std::int64_t rows = 0;                // of the points
  std::int64_t columns = 0;             // of the points
  bool by_columns = false;              // the columns of the points are compressed, not their rows
  std::string values, indices, starts;  // paths of its datasets
};

/// The sparse matrix in the group at `path`; nullopt if there is none. Throws Error(data) if it is damaged.
std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path);

/// Opens it as a dense matrix. Throws Error(data) if it is damaged or larger than this machine's memory.
std::unique_ptr<PointSource> open_sparse(const std::string& file, const SparseGroup& group, const ReadOptions& options);

}  // namespace kith::data
