// Ranges of consecutive queries, in which the float32 search takes the fallback queries of the fp16 search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kith::cuda {

/// Queries first .. first + count - 1.
struct QueryRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// The fewest ranges that cover `queries`, which are in ascending order.
inline std::vector<QueryRange> ranges_of(const std::vector<std::int64_t>& queries) {
  std::vector<QueryRange> ranges;
  for (const std::int64_t query : queries) {
    if (ranges.empty() || ranges.back().first + ranges.back().count != query) ranges.push_back({query, 0});
    ++ranges.back().count;
  }
  return ranges;
}

/// The number of queries in the longest range.
inline std::int64_t longest(const std::vector<QueryRange>& ranges) {
  std::int64_t count = 0;
  for (const QueryRange& range : ranges) count = std::max(count, range.count);
  return count;
}

}  // namespace kith::cuda
