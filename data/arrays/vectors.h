// The row of the table of formats for files of vectors, as search benchmarks have them: .fvecs and .fbin and their kin.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace kith::data {

bool is_vectors(const std::string& file);
std::unique_ptr<PointSource> open_vectors(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_vectors(const Location& place, const ReadOptions& options);

}  // namespace kith::data
