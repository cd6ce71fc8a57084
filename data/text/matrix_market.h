// Matrices of MatrixMarket files (.mtx), sparse and dense ones, also compressed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/format/point_source.h"

namespace kith::data {

bool is_matrix_market(const std::string& file);
/// Compresses sparse matrices by rows, and with ReadOptions::transpose by columns.
std::unique_ptr<PointSource> open_matrix_market(const Location& location, const ReadOptions& options);
std::vector<DatasetInfo> list_matrix_market(const Location& location, const ReadOptions& options);

}  // namespace kith::data
