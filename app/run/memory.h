// Host memory of a run: the check that it fits before it starts.
#pragma once

#include <cstdint>
#include <string>

#include "data/io/memory_limit.h"

namespace kith::app {

/// `requested` bytes if not 0, else what is free now; with several processes, the least that one of them had free when
/// use_agreed_memory() was called, so that all of them decide alike.
data::MemoryLimit memory_limit(std::int64_t requested);
void use_agreed_memory();

/// Throws as data::require_memory() does if a run does not fit; `needed` are all of its bytes, also those that it holds
/// already.
void require_memory(std::int64_t needed, const std::string& what, std::int64_t requested);

/// Largest resident size of this process so far, in bytes.
std::int64_t peak_memory();

}  // namespace kith::app
