// Reads the blocks of one request with several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "core/points/matrix.h"

namespace kith::data {

/// Calls read(block, buffer) for every block in [0, blocks). Each thread reuses one buffer for all of its blocks.
/// Blocks start in order. If several blocks throw, the exception of the lowest one is rethrown, as if one thread had
/// read all blocks; no later block starts. If the system provides fewer threads, the function uses those that it gets.
/// `least`: fewer blocks for each thread are not worth the thread.
void read_in_blocks(std::int64_t blocks, int threads,
                    const std::function<void(std::int64_t block, Matrix<std::byte>& buffer)>& read,
                    std::int64_t least = 8);

}  // namespace kith::data
