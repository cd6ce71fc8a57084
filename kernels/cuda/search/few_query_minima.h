// Group minima for a few queries: one pass over the base at the rate of the memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/fp16_lists.h"

namespace kith::cuda {

/// With at most this many queries, reading the base takes longer than multiplying it.
inline constexpr std::int64_t kFewQueries = 32;

/// Fills queries.minima for at most kFewQueries queries. tiles, score_base: as in SearchBase. Asynchronous.
void find_few_query_minima(const Stream& stream, const uint4* tiles, const float* score_base,
                           const SearchQueries& queries);

}  // namespace kith::cuda
