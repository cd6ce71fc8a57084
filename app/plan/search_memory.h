// Host memory of a search for neighbours. The processor chooses at run time, from a sample of the rows, between
// products, a tree, cells and a symmetric join (docs/architecture.md, Screens), which keep different things.
#pragma once

#include <cstdint>
#include <string>

#include "core/numbers/measure.h"

namespace kith::app {

/// Host bytes of a run at its peak.
struct MemoryUse {
  std::int64_t least = 0, most = 0;  // by the values of the points
  std::string reason;                // what the difference depends on, as in "by the search that the data allow"
};

/// A search before the rows are read.
struct PlannedSearch {
  std::int64_t rows = 0, columns = 0;
  bool is_wide = false;  // rows are float64
  std::int64_t queries = 0;
  std::int64_t block = 0;  // queries at a time
  std::int64_t neighbors = 0;
  Measure measure = Measure::squared_euclidean;
  std::int64_t threads = 1;
  std::int64_t spare = 0;  // bytes that a tree, cells or a join may take
  bool may_join = false;   // the queries are the rows, which may be searched all at once
};

/// Bytes of a block of queries, of its lists and candidates, with products: what every search can do with.
std::int64_t block_search_bytes(const PlannedSearch& search);

/// Bytes of the search besides the rows and their state, on a processor.
MemoryUse search_memory(const PlannedSearch& search);

}  // namespace kith::app
