// From the smallest scores of groups of base rows to finished lists of neighbours, one query per block: at once, or in
// two steps with a second product between them.
#pragma once

#include <cstdint>

#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/minima_epilogue.h"

namespace kith::cuda {

/// Queries, and what their scores were.
struct SearchQueries {
  const double* values = nullptr;  // (queries, d)
  const uint4* tiles = nullptr;    // of fp16_rows.h, in this shape
  Fp16Layout shape;
  const float* norm = nullptr;      // (queries) |x^|, rounded up
  const float* residual = nullptr;  // (queries) |x' - x^|, rounded up
  GroupMinima minima;
  std::int64_t count = 0;
  std::int64_t neighbors = 0;  // that each list takes
  std::int64_t excluded = -1;  // position of the base row that query 0 leaves out, query i that after i more
  bool leaves_out = false;
};

/// Complete lists, ordered by (distance, index). A query whose candidates found no room, or were not certain, keeps an
/// unfilled list.
struct ListOutput {
  double* distance = nullptr;     // (queries, k)
  std::int64_t* index = nullptr;  // (queries, k)
  Word* candidates = nullptr;     // (1) base rows whose distances were computed are ADDED
};

/// Whether minima of `rows` base rows bound lists of `neighbors` well, a row that is left out included, and the device
/// has the shared memory for `candidates` of a query.
bool can_find_lists(const Context& context, std::int64_t rows, std::int64_t neighbors, std::int64_t candidates);

/// Room for a query's candidates, a power of two.
std::int64_t candidates_of_list(std::int64_t neighbors);

/// `queries.minima` must have been found, as for find_limits. Queues only.
template <class T>
void find_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries, const ListOutput& out);

/// limit[q]: base rows with a higher score are not in the query's list; negative where nothing is certain. Queues only.
template <class T>
void find_limits(const Context& context, const SearchBase<T>& base, const SearchQueries& queries, float* limit);

/// `listed` are the rows within those limits. Queues only.
template <class T>
void finish_lists(const Context& context, const SearchBase<T>& base, const SearchQueries& queries,
                  const RowLists& listed, const ListOutput& out);

}  // namespace kith::cuda
