// Threads that share out the blocks of one read.
#pragma once

#include <cstdint>
#include <functional>

#include "core/matrix.h"

namespace kith::data {

/// Calls read(block, buffer) for every block in [0, blocks), each thread with a buffer of its own that lasts from block
/// to block. Blocks are begun in order. Of several exceptions that of the lowest block is rethrown, as if one thread
/// had read all; no block behind it is begun. Threads that cannot be had are done without.
void read_in_blocks(std::int64_t blocks, int threads,
                    const std::function<void(std::int64_t block, Matrix<std::byte>& buffer)>& read);

}  // namespace kith::data
