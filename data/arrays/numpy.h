// NumPy arrays (.npy), also compressed or on standard input, and archives of arrays (.npz), also of sparse matrices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_npy(const std::string& file);
std::unique_ptr<PointSource> open_npy(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_npy(const Location& location, const ReadOptions& options);

bool is_npz(const std::string& file);
std::unique_ptr<PointSource> open_npz(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_npz(const Location& location, const ReadOptions& options);

}  // namespace kith::data
