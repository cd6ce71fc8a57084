// Sparse matrices in HDF5 files: those of AnnData, 10x Genomics and MATLAB, read as if they were dense.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/hdf5/hdf5_file.h"
#include "data/source.h"

namespace kith::data {

/// A group that holds a sparse matrix by compressed rows or columns.
struct SparseGroup {
  std::string path;                     // "/X"
  const char* kind = "";                // "sparse by rows", as the file's program sees it
  std::int64_t rows = 0;                // of the points
  std::int64_t columns = 0;             // of the points
  bool by_columns = false;              // of the points: what is compressed are columns
  std::string values, indices, starts;  // paths of its datasets
};

/// What the group at `path` is. Nothing when it holds no sparse matrix. Throws Error(data) when it is a damaged one.
std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path);

/// Opens it densely. Throws Error(data): damaged, or larger than the memory of this machine, with what to do.
std::unique_ptr<PointSource> open_sparse(const std::string& file, const SparseGroup& group, const ReadOptions& options);

/// The text of a scalar attribute, or empty.
std::string text_attribute(hid_t object, const std::string& name);

}  // namespace kith::data
