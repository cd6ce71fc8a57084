// Host memory: its limit for this process, and the check that a run fits before it starts.
#pragma once

#include <cstdint>
#include <string>

namespace kith::app {

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string source;  // "--memory", "free on this machine", "left of this control group's limit"
};

/// `requested` bytes if not 0; else the smallest of the memory available by /proc/meminfo and within the limits of this
/// process's control groups (version 1 and 2).
MemoryLimit memory_limit(std::int64_t requested);

/// Throws Error (usage if --memory set the limit, else internal) with the needed and available bytes and the remedy.
void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested);

/// Largest resident size of this process so far, in bytes.
std::int64_t peak_memory();

}  // namespace kith::app
