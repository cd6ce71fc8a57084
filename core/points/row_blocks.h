// Rows that are visited block by block, once in each pass: those of a matrix, or of a file.
#pragma once

#include <cstdint>
#include <functional>

#include "core/points/matrix.h"

namespace kith {

struct RowBlocks {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  /// Calls visit(block) for blocks of rows in order. All blocks but the last have a multiple of kRowsOfBlocks rows.
  std::function<void(const std::function<void(const PointsView& block)>& visit)> pass;
};

inline constexpr std::int64_t kRowsOfBlocks = 256;

/// All rows of a matrix as one block.
inline RowBlocks one_block(const PointsView& values) {
  return {rows_of(values), columns_of(values), [values](const auto& visit) { visit(values); }};
}

}  // namespace kith
