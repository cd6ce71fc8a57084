// Rows sorted by label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/large_pages.h"
#include "core/runtime/threads.h"

namespace kith::cpu {

/// Rows in the order of their labels.
struct SortedRows {
  UninitializedVector<std::int64_t> row;  // rows of label c: row[start[c]] .. row[start[c + 1] - 1]
  std::vector<std::int64_t> start;        // (k + 1)
};

/// Sorts rows (positions) by their label, which must be in 0 .. clusters - 1, by a counting sort.
SortedRows sort_by_label(Threads& threads, std::span<const std::int64_t> rows, const std::int32_t* label,
                         std::int64_t clusters);

}  // namespace kith::cpu
