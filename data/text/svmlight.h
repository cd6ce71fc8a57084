// Files of svmlight and libsvm: a label, then INDEX:VALUE pairs of a sparse row.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_svmlight(const std::string& file);
/// The points or, if the location says "label", the labels as one column.
std::unique_ptr<PointSource> open_svmlight(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_svmlight(const Location& location, const ReadOptions& options);

}  // namespace kith::data
