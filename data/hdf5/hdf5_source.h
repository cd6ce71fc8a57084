// HDF5 as a format of points: what the table of formats (data/source.cpp) calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_hdf5(const std::string& file);
std::unique_ptr<PointSource> open_hdf5(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_hdf5(const Location& location, const ReadOptions& options);

/// The text of an attribute of the root, or empty.
std::string root_text(const std::string& file, const std::string& attribute);

}  // namespace kith::data
