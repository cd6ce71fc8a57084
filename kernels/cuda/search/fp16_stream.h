// Group minima for a few queries: the base is streamed once, at the speed of memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/fp16_lists.h"

namespace kith::cuda {

/// Up to so many queries the base takes longer to read than to multiply.
inline constexpr std::int64_t kFewQueries = 32;

/// Fills queries.minima for up to kFewQueries queries. tiles, score_base: as SearchBase has them. Queues only.
void stream_minima(const Stream& stream, const uint4* tiles, const float* score_base, const SearchQueries& queries);

}  // namespace kith::cuda
