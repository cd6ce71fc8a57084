// The memory of a search on a processor, as its backend knows it.
#include "app/plan/search_memory.h"

namespace kith::app {

MemoryUse search_memory(const PlannedSearch& search) {
  const auto [least, most] = cpu::search_bytes(search);
  return {least, most, "by the search that the data allow"};
}

}  // namespace kith::app
