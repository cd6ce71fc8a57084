// Sparse matrices of HDF5 files, read as dense matrices.
#pragma once

#include <memory>
#include <string>

#include "data/format/point_source.h"
#include "data/hdf5/hdf5_sparse.h"

namespace kith::data {

/// Opens it as a dense matrix. Throws Error(data) if it is damaged or larger than the memory that may be used.
std::unique_ptr<PointSource> open_sparse(const std::string& file, const SparseGroup& group, const ReadOptions& options);

}  // namespace kith::data
