// Vector files of search benchmarks: .fvecs, .fbin and related formats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_vectors(const std::string& file);
std::unique_ptr<PointSource> open_vectors(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_vectors(const Location& location, const ReadOptions& options);

}  // namespace kith::data
