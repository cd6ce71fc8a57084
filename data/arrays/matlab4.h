// MATLAB files of level 4 (save -v4, and scipy.io.savemat(..., format='4')), which have no signature.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

/// Whether the file begins with a variable of level 4: a type, a shape and a name that fit together.
bool is_matlab4(const std::string& file);
std::unique_ptr<PointSource> open_matlab4(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_matlab4(const Location& location, const ReadOptions& options);

}  // namespace kith::data
