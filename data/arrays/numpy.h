// NumPy arrays (.npy), also compressed or on standard input, and archives of arrays (.npz), also of sparse matrices.
#pragma once

#include <memory>
#include <optional>
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

/// The words of a vector of texts; nothing if FILE or FILE:NAME holds anything else.
std::optional<std::vector<std::string>> read_numpy_texts(const Location& location);

}  // namespace kith::data
