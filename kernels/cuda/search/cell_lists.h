// Lists of rows of a cell (cells.h) are stored or merged as lists of rows among all held ones.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/search/device_lists.h"

namespace kith::cuda {

/// How the rows of a cell are numbered among all rows.
struct CellRows {
  const std::int32_t* position = nullptr;  // (rows of the cell) ascending, among the held rows
  std::int64_t first_row = 0;              // row number of position 0

  __device__ std::int64_t number(std::int64_t row) const { return row < 0 ? -1 : first_row + position[row]; }
  /// The row of the cell, of `rows` rows, that is at this position among the held rows; -1: none.
  __device__ std::int32_t place(std::int64_t held, std::int64_t rows) const {
    const std::int64_t found = count_less(rows, [&](std::int64_t at) { return position[at] < held; });
    return found < rows && position[found] == held ? static_cast<std::int32_t>(found) : -1;
  }
};

/// Lists (count, k) that a search of a cell found for some queries, or rows.
struct FoundLists {
  DeviceLists lists;
  std::int64_t count = 0, k = 0;
  CellRows rows;
  const std::int32_t* chosen = nullptr;  // (count) the queries, each once
};

/// Stores found lists as those of the queries. Asynchronous.
void store_found(const Context& context, const FoundLists& found, const DeviceLists& lists);

/// Merges found lists into those of the queries, without fallback queries, which have no first entry. Where none was
/// found, the query becomes a fallback query. memory: of (count, k) lists. Asynchronous.
void merge_found(const Context& context, const FoundLists& found, const DeviceLists& memory, const DeviceLists& lists);

/// out (count): the places in a cell of `rows` rows of the held rows at positions first + chosen[i], -1 for those of
/// other cells. Asynchronous.
void find_places(const Context& context, const CellRows& cell, std::int64_t rows, const std::int32_t* chosen,
                 std::int64_t count, std::int64_t first, std::int32_t* out);

}  // namespace kith::cuda
