// Lists of neighbours from group minima (search_epilogues.h), one thread block per query: in one step, or in two steps
// with a second product between them.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {

/// Queries on the device, and the group minima of their scores.
struct SearchQueries {
  const double* values = nullptr;  // (queries, d)
  const uint4* tiles = nullptr;    // of fp16_rows.h, in the layout `shape`
  Fp16Layout shape;
  const float* norm = nullptr;      // (queries) |x^|, rounded up
  const float* residual = nullptr;  // (queries) |x' - x^|, rounded up
  GroupMinima minima;
  std::int64_t count = 0;
  std::int64_t neighbors = 0;  // length of each list
  std::int64_t excluded = -1;  // if has_excluded: query i excludes the base row at position excluded + i
  bool has_excluded = false;
  const std::int32_t* excluded_rows = nullptr;  // or (queries) the position that each excludes, -1: none
};

/// Complete lists, ordered by (distance, index). A list stays unfilled if its query has more candidates than capacity,
/// or if the screen cannot bound its scores.
struct ListOutput {
  double* distance = nullptr;     // (queries, k)
  std::int64_t* index = nullptr;  // (queries, k)
  Word* candidates = nullptr;     // (1) increased by the base rows whose distances were computed
};

/// Whether the group minima of `rows` base rows give a useful bound for lists of `neighbors`, an excluded row included,
/// and `candidates` of a query fit in shared memory.
bool can_find_lists(const Context& context, std::int64_t rows, std::int64_t neighbors, std::int64_t candidates);

/// The usual capacity for a query's candidates, a power of two.
std::int64_t candidate_capacity(std::int64_t neighbors);

/// What a query may take; one that needs more stays unfilled.
struct ListLimits {
  std::int64_t candidates = 0;  // a power of two
  /// Groups of base rows that are multiplied again; more than twice the candidates are too many in any case.
  std::int64_t groups = std::numeric_limits<std::int64_t>::max();
};

/// Queries with more candidates or groups than that, whose scores the screen can bound.
struct DenseQueries {
  std::int32_t* query = nullptr;  // (queries) the number of each, in any order
  float* limit = nullptr;         // (queries) of each: base rows with a higher score are not in its list
  Word* count = nullptr;          // (1)
};

/// Lists the dense queries, too. Requires queries.minima. Asynchronous.
template <class T>
void find_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                const ListLimits& limits, const ListOutput& out, const DenseQueries& dense);

/// limit[q]: base rows with a higher score are not in the query's list; negative if the screen cannot bound the scores.
/// Requires queries.minima. Asynchronous.
template <class T>
void find_limits(const Context& context, const SearchBase<T>& base, const SearchQueries& queries, float* limit);

/// listed: the base rows with scores up to those limits, of all queries or of the dense ones. Asynchronous.
template <class T>
void finish_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                  const RowLists& listed, const ListOutput& out, const DenseQueries& dense = {});

}  // namespace kith::cuda
