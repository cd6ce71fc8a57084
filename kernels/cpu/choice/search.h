// How a search is made: by the definition, products of all pairs, cells, a tree, a symmetric join, among the first of
// equal rows, or of quantized rows. All methods give the same lists. What a tree, cells or first copies would save is
// estimated from a sample; they are made once searches would have saved the time that this takes.
#pragma once

#include <limits>

#include "core/points/points.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

enum class SearchMethod {
  definition,    // all distances
  products,      // a screen of all pairs (search/search.cpp, search/radius.cpp)
  cells,         // rows around rows of a sample (search/cells.h)
  ranges,        // the same around the mean: cells that differ in lengths only, such as those of outliers
  tree,          // a k-d tree (search/tree.h)
  first_copies,  // another search of the first of equal rows (search/first_copies.h)
  quantized,     // rows in one byte a value, for few queries (search/quantized.h)
  join           // products of pairs, each scored once (search/self_join.cpp)
};

struct SearchRequest {
  Queries queries;             // of a join: as many as rows, without values
  std::int64_t neighbors = 0;  // 0: all rows within `limit`
  double limit = std::numeric_limits<double>::infinity();
  bool is_join = false;      // of all held rows in themselves
  std::uint32_t failed = 0;  // methods that were taken and could not be used

  /// Records that the method was taken and could not be used: memory is short, or copies are many.
  void fail(SearchMethod method) { failed |= 1U << static_cast<unsigned>(method); }
  bool has_failed(SearchMethod method) const { return (failed >> static_cast<unsigned>(method) & 1U) != 0; }
  /// Places of a list before the row itself is left out.
  std::int64_t places() const { return neighbors + (queries.excluded_row < 0 ? 0 : 1); }
};

/// The method of a search, which is recorded as a decision. Of a join that is better made as searches of blocks: what
/// the first of them may choose, which is not recorded.
template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const SearchRequest& request);

/// The kernels for so many queries among rows of bits, which is recorded as a decision.
const BitKernels& choose_bit_kernels(const HeldRows<std::uint8_t>& held, std::int64_t queries);

/// Whether queries whose lists of candidates overflowed are searched by cells rather than by the definition.
template <class T>
bool overflowed_take_cells(const HeldRows<T>& held, const Queries& queries, std::int64_t count);

/// The number of cells for a search of so many queries.
std::int64_t cell_count(std::int64_t rows, std::int64_t queries);

// What decides before there are values, as plans do (memory.cpp).

struct SearchSize {
  const Instructions& set;
  std::int64_t rows = 0, columns = 0, queries = 0, neighbors = 0;
  Measure measure = Measure::squared_euclidean;
  int threads = 1;
  std::int64_t bytes = 0;  // of memory that the method may take
};

/// Why a search of this size has no tree; null: it may have one. forced: although it would not pay.
const char* tree_excluded(const SearchSize& size, bool forced = false);
/// Why it is no symmetric join.
const char* join_excluded(const SearchSize& size, bool forced = false);

/// Seconds for a tree of the rows with all threads; the first splits are made by one of them.
double tree_building_seconds(const Machine& machine, const SearchSize& size);
/// Bytes of a tree of fewer than 2^31 rows, and of its construction. Defined in search/tree.cpp.
std::int64_t tree_bytes(std::int64_t rows, std::int64_t columns);
/// Bytes of quantized rows. Defined in search/quantized.cpp.
std::int64_t quantized_bytes(std::int64_t rows, std::int64_t columns);
/// About the bytes of the cells of rows and of their construction: packed rows with some unused places; row numbers
/// before and after sorting, labels, and what their assignment keeps.
std::int64_t cell_bytes(const ScreenKernels& screen, std::int64_t rows, std::int64_t columns);

// Samples of the work.

/// The work of a query, on average.
struct TreeSample {
  double distances = 0.0;  // D of the query and a row
  double visits = 0.0;     // of nodes
};
/// The work in a tree of `rows` of the held rows, for a sample of the queries. Defined in search/tree_search.cpp.
template <class T>
TreeSample sample_tree(const HeldRows<T>& held, const SearchRequest& request, std::int64_t rows);
/// An estimate of the probability that two rows are equal. Defined in search/first_copies.cpp.
template <class T>
double equal_share(const HeldRows<T>& held);

}  // namespace kith::cpu
