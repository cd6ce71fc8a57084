// Host memory of a search for neighbours. The processor chooses at run time, from a sample of the rows, between
// products, a tree, cells and a symmetric join (docs/architecture.md, Screens), which keep different things.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cpu/memory.h"

namespace kith::app {

/// Host bytes of a run at its peak.
struct MemoryUse {
  std::int64_t least = 0, most = 0;  // by the values of the points
  std::string reason;                // what the difference depends on, as in "by the search that the data allow"
};

using PlannedSearch = cpu::SearchShape;

using cpu::block_search_bytes;

/// Bytes of the search besides the rows and their state, on a processor.
MemoryUse search_memory(const PlannedSearch& search);

}  // namespace kith::app
