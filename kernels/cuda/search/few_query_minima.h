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

/// A base, and its queries with minima.
struct FewQueryPart {
  const uint4* tiles;
  const float* score_base;
  SearchQueries queries;
};

/// The tiles of one block minimum of a part.
struct FewQueryItem {
  std::int32_t part, tile_block;
};

/// The same for several bases. parts, items: on the device. most_queries: of a part, up to kFewQueries. Asynchronous.
void find_parts_minima(const Stream& stream, const FewQueryPart* parts, const FewQueryItem* items,
                       std::int64_t item_count, std::int64_t most_queries);

}  // namespace kith::cuda
