// Host memory of a run: the check that it fits before it starts.
#include "app/run/memory.h"

#include <sys/resource.h>

namespace kith::app {

data::MemoryLimit memory_limit(std::int64_t requested) {
  return requested > 0 ? data::MemoryLimit{requested, "allowed by --memory"} : data::free_memory();
}

void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested) {
  data::require_memory(needed, what, memory_limit(requested));
}

std::int64_t peak_memory() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace kith::app
