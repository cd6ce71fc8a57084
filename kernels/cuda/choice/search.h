// The choice of a search: products with all rows, a tree of boxes, or cells; and of the symmetric join. All costs of
// searches are compared here, in the bytes, operations and steps that a Machine turns into seconds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/points/decision.h"

namespace kith::cuda {

enum class SearchMethod {
  products,        // with all rows
  tree,            // search/tree.h
  cells,           // products with the rows of each cell that a query needs (search/cells.h)
  symmetric_join,  // of a set in itself: each pair of rows is multiplied once (search/self_join.cu)
};

/// A search of held rows.
struct SearchSize {
  std::int64_t rows = 0, columns = 0, queries = 0, neighbors = 0;
  bool is_float64 = false;  // the values, which a tree then compares in float64
  bool has_fp16 = false;    // products can be those of fp16 copies
};

/// What samples and searches of some rows have shown.
struct SearchKnowledge {
  double requested_seconds = 0.0;  // estimated duration of the products of searches so far
  std::int64_t neighbors = 0;      // length of the lists for which the share was measured; 0: it was not
  double share = 0.0;              // of the rows whose distances, or boxes, a query computes in a tree
  double ambiguous = 0.0;          // share of the queries that products in fp16 leave ambiguous
  bool too_dense = false;          // these are many
  bool tried_precision = false;    // cells were made for that, or found not to serve it
  bool tried_pruning = false;      // the same
};

/// The cells that the rows have.
struct CellsShape {
  std::int64_t count = 0;
  double share = 1.0;  // estimate: of the rows, those in cells that a query needs
};

/// What is chosen, and the decision for the log.
struct SearchChoice {
  SearchMethod method = SearchMethod::products;
  Decision decision;
};

/// Products where nothing else is possible, or known to be worth its cost. reason: why.
SearchChoice only_products(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                           const char* reason);
/// A method that a test forces.
SearchChoice forced_method(SearchMethod method);

/// The time of products, which SearchKnowledge::requested_seconds adds up.
double products_seconds(const Machine& machine, const SearchSize& size, double ambiguous);

/// Whether searches have taken so long that sampling the rows, and then building a tree, is worth its cost.
bool is_sample_worth(const Machine& machine, const SearchSize& size, const SearchKnowledge& known);

/// Whether the share is known for lists of about this length.
bool knows_share(const SearchKnowledge& known, std::int64_t neighbors);

/// The purposes for which cells may save more than it costs to find them; those that have been tried are left out.
struct CellPurposes {
  bool pruning = false;    // searches so far have taken longer, and queries could leave cells out
  bool precision = false;  // ambiguous products of this search take longer

  bool any() const { return pruning || precision; }
};
CellPurposes worthwhile_cells(const Machine& machine, const SearchSize& size, const SearchKnowledge& known);

/// Requires that the share is known. cells: those that the rows have.
SearchChoice choose_method(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                           const std::optional<CellsShape>& cells);

/// The share of some queries that products leave ambiguous: `left` of them have no list, the others measured
/// `candidates` rows.
double ambiguous_share(const Machine& machine, const SearchSize& size, std::int64_t left, std::int64_t candidates);
/// Whether so many are ambiguous that products do not serve.
bool is_too_dense(double ambiguous);
/// Whether a rounding of D by this much may leave a query ambiguous whose k-th neighbour is at this D: the error of two
/// scores, which are compared, is larger.
bool may_be_ambiguous(double error, double nearest);
/// Rows of the sample that gives a symmetric join its limits: the fastest number.
std::int64_t join_sample_rows(const Machine& machine, const SearchSize& size);
/// Whether the symmetric join of a set in itself is faster than products with all rows. Requires fp16 copies.
SearchChoice choose_join(const Machine& machine, const SearchSize& size);

/// Leaves that a query may visit before it falls back: those that its warp visits while the device searches the tree
/// for all `size.queries`, which are in flight together, so that none of them is waited for. At least a 16th of
/// `leaves`, and at most half where products leave many queries ambiguous.
std::int64_t most_leaves(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                         std::int64_t leaves);

/// Base rows that are multiplied with a query in the time of reading a block of 32 of them once more.
std::int64_t rows_in_time_of_block(const Machine& machine, std::int64_t columns);

}  // namespace kith::cuda
