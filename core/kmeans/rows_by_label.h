// Row numbers sorted by label, so that the rows of each cluster are contiguous.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kith {

struct RowsByLabel {
  std::vector<std::int64_t> rows;   // row numbers by label, then ascending
  std::vector<std::int64_t> first;  // (k + 1) begin of the rows of each cluster, and the end of the last
};

/// Sorts the rows of labels (n) by counting, in O(n + k); excludes rows whose label is not in 0 .. clusters - 1.
inline RowsByLabel rows_by_label(std::span<const std::int32_t> labels, std::int64_t clusters) {
  RowsByLabel sorted;
  sorted.first.assign(static_cast<std::size_t>(clusters + 1), 0);
  const auto is_counted = [clusters](std::int32_t label) { return label >= 0 && label < clusters; };
  for (const std::int32_t label : labels) {
    if (is_counted(label)) ++sorted.first[label + 1];
  }
  for (std::int64_t c = 0; c < clusters; ++c) sorted.first[c + 1] += sorted.first[c];
  sorted.rows.resize(static_cast<std::size_t>(sorted.first.back()));
  std::vector<std::int64_t> next = sorted.first;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (is_counted(labels[i])) sorted.rows[next[labels[i]]++] = static_cast<std::int64_t>(i);
  }
  return sorted;
}

}  // namespace kith
