// Host memory: how much may be taken, and refusing a run that needs more before it starts.
#pragma once

#include <cstdint>
#include <string>

namespace kith::app {

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string source;  // "--memory", "free on this machine", "left of this control group's limit"
};

/// `asked` bytes when not 0; else the smallest of what /proc/meminfo says is available and what the control groups
/// (version 1 and 2) of this process leave.
MemoryLimit memory_limit(std::int64_t asked);

/// Throws Error(usage when --memory set the limit, else internal) naming needed and available bytes, and the remedy.
void require_memory(std::int64_t needed, const std::string& what, std::int64_t asked);

/// Largest resident size of this process so far, in bytes.
std::int64_t peak_memory();

}  // namespace kith::app
