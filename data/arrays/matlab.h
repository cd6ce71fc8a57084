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

/// For the choice of a variable, a row or a column beside other matrices is a vector.
std::vector<DatasetInfo> with_vectors(std::vector<DatasetInfo> all);

}  // namespace kith::data
