// The costs of searches. Products take the same time for all data, with queries that they leave ambiguous in addition.
// A tree takes log2(n / 32) sorts once, and a query some leaves: about ten with few columns, those of its cluster with
// many, nearly all of them if the rows have many columns and no structure. Cells take a pass over the rows once, and a
// query the products with those that may hold a neighbour.
//
// Factors that are said to be fitted make these costs, with the Machine of an H200, the durations measured there.
#include "kernels/cuda/choice/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "kernels/cuda/choice/machine.h"
#include "kernels/cuda/device/fp16_layout.h"

namespace kith::cuda {
namespace {

/// Operations of float32 for each score of a product in fp16: the minima, and what is selected from them. Fitted.
constexpr double kScore = 6.0;
/// Bytes that the float32 search moves for each score: it is written, and read by the selection.
constexpr double kScoreBytes = 2 * sizeof(float);
/// From so many columns on, a tree compares rows in float32 first, and rows of which it leaves out most are in
/// clusters, so that products are followed by kClustered times as many candidates. Measured on clusters of several
/// sizes.
constexpr std::int64_t kManyColumns = 32;
constexpr double kClustered = 4.0;

/// Operations of float32 for each column of a row or box that a tree compares: three that round down, two maxima,
/// and as many for its boxes. Fitted.
constexpr double kTreeColumn = 12.0;
/// Columns of definitions for each column that it compares in float64. Fitted.
constexpr double kTreeColumn64 = 3.0;
/// Columns that take as long as what is done for a row besides: its place in the list. Fitted.
constexpr double kTreeRow = 10.0;
/// Neighbours with which a search takes twice as long as with one: long lists leave registers for fewer queries.
constexpr double kTreeNeighbors = 100.0;
/// Steps that a warp takes for each column of a leaf: loads that wait for each other. Fitted.
constexpr double kLeafColumnSteps = 0.016;
/// Bytes of the sorts of a level for each row: eight passes over keys, positions and values. Fitted.
constexpr double kSortBytes = 1500.0;
/// Bytes for each value, which each leaf gathers and from which boxes are made. Fitted.
constexpr double kTreeBytes = 40.0;
/// Kernels of a level of a tree: the passes of a sort, samples and keys; and as many of a search of a cell for its
/// queries, which is searched twice.
constexpr double kPassSteps = 20.0;

/// Steps of finding the centers of cells, with the work of the host between them; and bytes for each value, which is
/// compared with up to 128 centers, copied and prepared. Fitted.
constexpr double kCellSteps = 1600.0, kCellBytes = 300.0;

/// Where a query needs more of the rows than that in a tree, it needs most cells. Measured.
constexpr double kLargestShare = 0.6;
/// Share of ambiguous queries above which products serve no longer. Measured.
constexpr double kTooDense = 0.125;

/// Operations of float32 for each score of a symmetric join, which serves two rows: its comparisons, and the pairs
/// that it logs and appends to lists. Fitted: it is faster than searches from about 200 columns on.
constexpr double kJoinScore = 18.0;

double number(std::int64_t count) { return static_cast<double>(count); }
double pairs_of(const SearchSize& size) { return number(size.queries) * number(size.rows); }
double columns_of(const SearchSize& size) { return number(size.columns); }

/// The cost of `pairs` scores in fp16.
Cost fp16_cost(double pairs, double columns) {
  Cost cost;
  cost.fp16 = pairs * columns;
  cost.float32 = pairs * kScore;
  return cost;
}

Cost products_cost(const SearchSize& size, double ambiguous) {
  const double pairs = pairs_of(size), columns = columns_of(size);
  const double times = size.columns >= kManyColumns ? kClustered : 1.0;
  Cost cost = size.has_fp16 ? fp16_cost(pairs * times, columns) : Cost{};
  const double in_float32 = pairs * (size.has_fp16 ? ambiguous : times);
  cost.float32 += in_float32 * columns;
  cost.copied += in_float32 * kScoreBytes;
  cost.definitions += size.has_fp16 ? in_float32 * columns * kScattered : 0.0;
  return cost;
}

Cost tree_cost(const SearchSize& size, double share) {
  const double compared = (kTreeRow + columns_of(size)) * (1 + number(size.neighbors) / kTreeNeighbors);
  Cost cost;
  if (size.is_float64 || size.columns < kManyColumns) {
    cost.definitions = pairs_of(size) * share * compared * kTreeColumn64;
  } else {
    cost.float32 = pairs_of(size) * share * compared * kTreeColumn;
  }
  return cost;
}

/// The cost of building the tree, whose leaves have more rows than 32 with many columns.
Cost tree_build_cost(const SearchSize& size) {
  const auto levels = number(std::bit_width(static_cast<std::uint64_t>(size.rows / (4 * size.columns + 32))));
  Cost cost;
  cost.copied = number(size.rows) * (levels * kSortBytes + columns_of(size) * kTreeBytes);
  cost.steps = (levels + 1) * kPassSteps;
  return cost;
}

Cost cells_cost(const SearchSize& size, const CellsShape& cells) {
  const double columns = columns_of(size), count = number(cells.count), rows = number(size.rows) / count;
  const double searches = number(size.queries) * std::max(cells.share * count, 1.0);  // of a query in a cell
  const double searched = std::min(count, searches);                                  // cells
  Cost cost = fp16_cost(std::max(searches, kFp16TileRows * searched) * rows, columns);
  cost.copied += searched * rows * columns * 2.0;
  cost.definitions += number(size.queries) * count * columns;
  cost.steps = 2 * kPassSteps * searched;
  return cost;
}

/// The cost of finding out whether cells pay, and of making them.
Cost cells_build_cost(const SearchSize& size) {
  Cost cost;
  cost.copied = number(size.rows) * columns_of(size) * kCellBytes;
  cost.steps = kCellSteps;
  return cost;
}

/// A product with the sample gives limits, one of each pair of rows the rows within them, whose distances follow:
/// k n / s of each row for a sample of s.
Cost join_cost(const SearchSize& size, std::int64_t sample) {
  const double rows = number(size.rows), columns = columns_of(size);
  const double listed = number(size.neighbors + 1) * rows / number(std::max<std::int64_t>(sample, 1));
  Cost cost = fp16_cost(rows * number(sample), columns);
  cost.fp16 += rows * rows / 2 * columns;
  cost.float32 += rows * rows / 2 * kJoinScore;
  cost.gathered = rows * listed * columns * 4.0;
  return cost;
}

const char* name_of(SearchMethod method) {
  switch (method) {
    case SearchMethod::tree:
      return "tree";
    case SearchMethod::cells:
      return "cells";
    case SearchMethod::symmetric_join:
      return "symmetric join";
    default:
      return "products";
  }
}

Option option(SearchMethod method, double seconds) { return {.method = name_of(method), .seconds = seconds}; }

SearchChoice chosen(SearchMethod method, std::string reason, std::vector<Option> considered) {
  return {method,
          {.subject = "search",
           .method = name_of(method),
           .reason = std::move(reason),
           .considered = std::move(considered)}};
}

}  // namespace

SearchChoice only_products(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                           const char* reason) {
  return chosen(SearchMethod::products, reason,
                {option(SearchMethod::products, products_seconds(machine, size, known.ambiguous)),
                 {.method = name_of(SearchMethod::tree), .excluded = reason}});
}

SearchChoice forced_method(SearchMethod method) { return chosen(method, "forced", {option(method, 0.0)}); }

double products_seconds(const Machine& machine, const SearchSize& size, double ambiguous) {
  return seconds(products_cost(size, ambiguous), machine);
}

bool is_sample_worth(const Machine& machine, const SearchSize& size, const SearchKnowledge& known) {
  // Products of clustered rows take longer than was estimated.
  return kClustered * known.requested_seconds > seconds(tree_build_cost(size), machine);
}

bool knows_share(const SearchKnowledge& known, std::int64_t neighbors) {
  return neighbors <= 2 * known.neighbors && known.neighbors <= 2 * neighbors;
}

CellPurposes worthwhile_cells(const Machine& machine, const SearchSize& size, const SearchKnowledge& known) {
  if (!size.has_fp16 || known.neighbors == 0) return {};
  const double products = products_seconds(machine, size, 0.0), cost = seconds(cells_build_cost(size), machine);
  const double saved_by_tree = std::min(1.0, seconds(tree_cost(size, known.share), machine) / products);
  const bool prunes = !known.tried_pruning && !known.too_dense && known.share <= kLargestShare &&
                      known.requested_seconds * saved_by_tree > cost;
  const double ambiguous = products_seconds(machine, size, known.ambiguous) - products;
  return {prunes, !known.tried_precision && ambiguous > cost};
}

SearchChoice choose_method(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                           const std::optional<CellsShape>& cells) {
  std::vector<Option> considered{option(SearchMethod::products, products_seconds(machine, size, known.ambiguous)),
                                 option(SearchMethod::tree, seconds(tree_cost(size, known.share), machine))};
  // Of equal ones the tree: it computes no more than the products.
  SearchMethod method = considered[1].seconds > considered[0].seconds ? SearchMethod::products : SearchMethod::tree;
  std::string reason = fmt::format("a query compares {:.3g} % of the rows in a tree", 100 * known.share);
  if (cells) {
    considered.push_back(option(SearchMethod::cells, seconds(cells_cost(size, *cells), machine)));
    if (considered[2].seconds < std::min(considered[0].seconds, considered[1].seconds)) {
      method = SearchMethod::cells;
      reason = fmt::format("a query needs {:.3g} % of the rows in {} cells", 100 * cells->share, cells->count);
    }
  }
  return chosen(method, std::move(reason), std::move(considered));
}

double ambiguous_share(const Machine& machine, const SearchSize& size, std::int64_t left, std::int64_t candidates) {
  const double products = machine.float32 / machine.definitions;  // in the time of a column of a definition
  return (number(left) + products * number(candidates) / number(size.rows)) / number(size.queries);
}

bool is_too_dense(double ambiguous) { return ambiguous > kTooDense; }

bool may_be_ambiguous(double error, double nearest) { return 2 * error > nearest; }

std::int64_t join_sample_rows(const Machine& machine, const SearchSize& size) {
  // The derivative of join_cost() is 0 where the product with the sample takes as long as the distances.
  const double per_byte = machine.fp16 / machine.gathered;
  return static_cast<std::int64_t>(std::sqrt(number(size.neighbors) * number(size.rows) * sizeof(float) * per_byte));
}

SearchChoice choose_join(const Machine& machine, const SearchSize& size) {
  const std::int64_t sample = std::min(join_sample_rows(machine, size), size.rows);
  const double joined = seconds(join_cost(size, sample), machine),
               searched = seconds(fp16_cost(pairs_of(size), columns_of(size)), machine);
  return chosen(joined < searched ? SearchMethod::symmetric_join : SearchMethod::products,
                fmt::format("{} columns, a sample of {} rows", size.columns, sample),
                {option(SearchMethod::products, searched), option(SearchMethod::symmetric_join, joined)});
}

std::int64_t most_leaves(const Machine& machine, const SearchSize& size, const SearchKnowledge& known,
                         std::int64_t leaves) {
  constexpr std::int64_t kLeast = 256, kUsual = 16, kMost = 2;  // leaves, and divisors of their number
  const std::int64_t least = std::max(kLeast, leaves / kUsual);
  if (!known.too_dense) return least;
  Cost leaf;
  leaf.steps = (kTreeRow + columns_of(size)) * kLeafColumnSteps;
  const double meanwhile = seconds(tree_cost(size, known.share), machine) / seconds(leaf, machine);
  return std::max(least, static_cast<std::int64_t>(std::min(meanwhile, number(leaves / kMost))));
}

std::int64_t rows_in_time_of_block(const Machine& machine, std::int64_t columns) {
  constexpr double kBlockRows = 32;
  Cost block;
  block.copied = kBlockRows * sizeof(std::uint16_t) * number(columns);
  const double ratio = seconds(block, machine) / seconds(fp16_cost(1.0, number(columns)), machine);
  return std::max<std::int64_t>(static_cast<std::int64_t>(ratio), 1);
}

}  // namespace kith::cuda
