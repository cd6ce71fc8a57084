// Runs of consecutive queries: those that a first look left are looked at again together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kith::cuda {

/// Consecutive queries.
struct QueryRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// queries: ascending.
inline std::vector<QueryRange> runs_of(const std::vector<std::int64_t>& queries) {
  std::vector<QueryRange> runs;
  for (const std::int64_t query : queries) {
    if (runs.empty() || runs.back().first + runs.back().count != query) runs.push_back({query, 0});
    ++runs.back().count;
  }
  return runs;
}

/// The queries of the longest run.
inline std::int64_t longest(const std::vector<QueryRange>& runs) {
  std::int64_t most = 0;
  for (const QueryRange& run : runs) most = std::max(most, run.count);
  return most;
}

}  // namespace kith::cuda
