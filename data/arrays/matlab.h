// MATLAB files of level 5 (save -v6 and -v7, and scipy.io.savemat): their matrices of numbers, also sparse ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_matlab(const std::string& file);
/// A row of numbers is read as a column where ReadOptions::vector_as_column allows vectors.
std::unique_ptr<PointSource> open_matlab(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_matlab(const Location& location, const ReadOptions& options);

}  // namespace kith::data
