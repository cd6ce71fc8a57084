// The host memory that the CPU backend needs besides the rows, by the shape of a problem: for plans that are made
// before the rows are read. kernels/cpu/choice decides at run time, from the values, what is really kept.
#pragma once

#include <cstdint>

#include "core/numbers/distance.h"

namespace kith::cpu {

/// A search for neighbours.
struct SearchShape {
  std::int64_t rows = 0, columns = 0;
  bool is_wide = false;  // rows are float64
  std::int64_t queries = 0;
  std::int64_t block = 0;  // queries at a time
  std::int64_t neighbors = 0;
  Measure measure = Measure::squared_euclidean;
  std::int64_t threads = 1;
  std::int64_t spare = 0;  // bytes that a tree, cells or a join may take
  bool may_join = false;   // the queries are the rows, which may be searched all at once
};

/// Bytes at the peak, by the values of the points.
struct SearchBytes {
  std::int64_t least = 0, most = 0;
};

/// Bytes of a block of queries, of its lists and candidates, with products: what every search can do with.
std::int64_t block_search_bytes(const SearchShape& shape);

/// Bytes of the search besides the rows and their state.
SearchBytes search_bytes(const SearchShape& shape);

/// Bytes of the workspaces in which threads assign long rows to clusters, beyond what every run needs.
std::int64_t long_row_bytes(std::int64_t rows, std::int64_t columns, std::int64_t clusters, std::int64_t threads);

/// Whether rows are compared with so many others in packed copies, which a screen needs, rather than by the definition.
bool is_screened(std::int64_t rows, std::int64_t columns, std::int64_t others);

}  // namespace kith::cpu
