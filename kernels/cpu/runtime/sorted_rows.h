// Rows sorted by label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/points/matrix.h"
#include "core/runtime/large_pages.h"
#include "core/runtime/threads.h"

namespace kith::cpu {

/// Rows in the order of their labels.
struct SortedRows {
  UninitializedVector<std::int64_t> row;  // rows of label c: row[start[c]] .. row[start[c + 1] - 1]
  std::vector<std::int64_t> start;        // (k + 1)
};

/// Sorts rows (positions) by their label, which must be in 0 .. clusters - 1, by a counting sort: each thread counts
/// and places a range of them.
inline SortedRows sort_by_label(Threads& threads, std::span<const std::int64_t> rows, const std::int32_t* label,
                                std::int64_t clusters) {
  const auto count = std::ssize(rows);
  const std::int64_t parts = std::clamp<std::int64_t>(count / (8 * clusters + 4096), 1, threads.count());
  const std::int64_t step = (count + parts - 1) / parts;
  Matrix<std::int64_t> next(parts, clusters);
  std::fill_n(next.data(), next.size(), 0);
  threads.run(parts, [&](std::int64_t part, int) {
    for (std::int64_t i = part * step; i < std::min((part + 1) * step, count); ++i) ++next(part, label[rows[i]]);
  });
  SortedRows sorted;
  sorted.row.resize(static_cast<std::size_t>(count));
  sorted.start.resize(static_cast<std::size_t>(clusters + 1));
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < clusters; ++c) {
    sorted.start[c] = total;
    for (std::int64_t part = 0; part < parts; ++part) total += std::exchange(next(part, c), total);
  }
  sorted.start[clusters] = total;
  threads.run(parts, [&](std::int64_t part, int) {
    for (std::int64_t i = part * step; i < std::min((part + 1) * step, count); ++i)
      sorted.row[next(part, label[rows[i]])++] = rows[i];
  });
  return sorted;
}

}  // namespace kith::cpu
