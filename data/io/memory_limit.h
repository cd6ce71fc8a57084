// The memory that reading may take.
#pragma once

#include <cstdint>

namespace kith::data {

/// In bytes: what set_memory_limit() was given; else the memory of this machine.
std::int64_t memory_limit();

/// Every later reading stays within it: inputs that need more are refused before memory is taken.
void set_memory_limit(std::int64_t bytes);

}  // namespace kith::data
