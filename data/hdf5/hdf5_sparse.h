// Sparse matrices of AnnData, 10x Genomics, h5Seurat and MATLAB in HDF5 files. These functions use the HDF5 library:
// call them with Hdf5Child.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// A group that holds a sparse matrix with compressed rows or columns.
struct SparseGroup {
  std::string path;                     // "/X"
  std::string kind;                     // "sparse by rows", in the terms of the program that wrote it
  std::int64_t rows = 0;                // of the points
  std::int64_t columns = 0;             // of the points
  bool by_columns = false;              // the columns of the points are compressed, not their rows
  std::string values, indices, starts;  // paths of its datasets
  std::string remark;                   // what a reader of the result should know; or empty
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, SparseGroup& group) {
  archive(group.path, group.kind, group.rows, group.columns, group.by_columns, group.values, group.indices,
          group.starts, group.remark);
}

/// A remark if the columns of the matrix at this path, "" for the root, are of several kinds by what 10x Genomics or
/// AnnData say beside it; or nothing.
std::string kinds_of_features(const Hdf5InputFile& file, const std::string& matrix, std::int64_t features);

/// The sparse matrix in the group at `path`; nullopt if there is none. Throws Error(data) if it is damaged.
std::optional<SparseGroup> sparse_group(const Hdf5InputFile& file, const std::string& path);

}  // namespace kith::data
