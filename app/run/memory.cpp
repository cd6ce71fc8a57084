// Host memory of a run: the check that it fits before it starts.
#include "app/run/memory.h"

#include <sys/resource.h>

#include "app/run/processes.h"

namespace kith::app {
namespace {

std::int64_t agreed_bytes = 0;  // free memory that every process assumes; 0: there is one process

}  // namespace

void use_agreed_memory() {
  if (processes().is_alone()) return;
  double least = -static_cast<double>(data::free_memory().bytes / sharing().memory);
  processes().take_largest({&least, 1});
  agreed_bytes = static_cast<std::int64_t>(-least);
}

data::MemoryLimit memory_limit(std::int64_t requested) {
  if (requested > 0) return {requested, "allowed by --memory"};
  return agreed_bytes > 0 ? data::MemoryLimit{agreed_bytes, "free for each process"} : data::free_memory();
}

void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested) {
  data::require_memory(needed, what, memory_limit(requested));
}

std::int64_t peak_memory() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::int64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace kith::app
