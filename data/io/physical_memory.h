// The memory of this machine, as a limit for what a file may make kith allocate.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace kith::data {

/// In bytes.
inline std::int64_t physical_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace kith::data
