// HDF5 as a format of points: what the table of formats (data/source.cpp) calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_hdf5(const std::string& file);
std::unique_ptr<PointSource> open_hdf5(const Location& location, const ReadOptions& options);
/// As open_hdf5(), but refuses groups, so that the parts of a sparse matrix cannot be sparse matrices themselves.
std::unique_ptr<PointSource> open_hdf5_dataset(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_hdf5(const Location& location, const ReadOptions& options);

}  // namespace kith::data
