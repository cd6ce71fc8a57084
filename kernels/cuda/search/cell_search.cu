// Searches in the tree of the held rows, and the choice between the tree, products with all rows, and products with the
// rows of each group.
//
// The tree costs log2(n / 32) sorts once, and a query some leaves: about ten with few columns, those of its cluster
// with many, nearly all of them if the rows have many columns and no structure. A sample tells: the share of the rows
// whose distances or boxes a query computes in a tree over some rows is an upper estimate of the share in the whole
// tree, whose leaves are smaller.
#include "kernels/cuda/search/cell_search.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/numbers/philox.h"
#include "kernels/cuda/search/cell_build.h"
#include "kernels/cuda/search/cell_launch.h"
#include "kernels/cuda/search/center_choice.h"
#include "kernels/cuda/search/centered_groups.h"
#include "kernels/cuda/search/fp16_batch.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/long_rows.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kSampleRows = 1 << 15;
constexpr std::int64_t kSampleQueries = 128;
constexpr double kTooDense = 0.125;  // share of the queries
constexpr double kSmaller = 0.8;     // rows of the smaller groups / of a group of average size

// Estimated durations on an H200; a wrong one costs time only.
/// Of products of `pairs` rows and queries. Where a tree of many columns leaves out most rows, these are in clusters,
/// and products are followed by many candidates. ambiguous: the share of the queries for which there are more than fit,
/// so that products in float32 follow.
double product_seconds(double pairs, std::int64_t d, double ambiguous) {
  constexpr std::int64_t kManyColumns = 32;
  const double candidates = d >= kManyColumns ? 4.0 : 1.0;
  return pairs * candidates * (0.3e-12 + static_cast<double>(d) * 1.6e-15) +
         ambiguous * pairs * (2e-12 + static_cast<double>(d) * 0.35e-12);
}
/// Of `pairs` distances in leaves, with the boxes on the way, of which fewer fit in caches if there are many columns.
double cell_seconds(double pairs, std::int64_t d, std::int64_t neighbors) {
  const auto columns = static_cast<double>(d);
  const double lists = 1 + static_cast<double>(neighbors) / 100;  // long lists leave memory for fewer queries at a time
  return pairs * (5e-12 + columns * (1 + columns / 1024) * 0.5e-12) * lists;
}
/// Of building the tree.
double build_seconds(std::int64_t rows, std::int64_t d) {
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(rows / (4 * d + 32))));
  return 1e-3 + static_cast<double>(rows) * (levels * 0.4e-9 + static_cast<double>(d) * 10e-12);
}

/// Of finding out whether groups pay, and of making them.
double grouping_seconds(std::int64_t rows, std::int64_t d) {
  return 8e-3 + static_cast<double>(rows) * (5e-9 + static_cast<double>(d) * 60e-12);
}
/// Rows of a group in which products find the nearest: few enough of its minima of 32 rows are those of neighbours.
std::int64_t smallest_group(std::int64_t neighbors) { return 64 * (neighbors + 2); }
/// Rows of a group that are all measured.
std::int64_t largest_measured(std::int64_t neighbors) { return candidate_capacity(neighbors); }
/// How many centers leave groups for which one of the two serves: others are searched in trees, which is slow.
std::int64_t most_centers(std::int64_t rows, std::int64_t neighbors) {
  const bool any =
      smallest_group(neighbors) <= largest_measured(neighbors) ||
      static_cast<double>(rows) <= kSmaller * static_cast<double>(largest_measured(neighbors) * kMostCenters);
  return any ? kMostCenters : std::min(kMostCenters, rows / smallest_group(neighbors));
}

/// Of products of `count` queries with the groups that each needs: a share of the rows.
double group_seconds(std::int64_t count, std::int64_t rows, std::int64_t d, double share, std::int64_t groups,
                     std::int64_t neighbors) {
  constexpr double kTile = 128.0;  // queries that are multiplied together
  constexpr double kStart = 0.15e-3, kProduct = 3e-15, kScore = 0.3e-12, kByte = 0.5e-12, kDistance = 1e-12;
  constexpr double kTree = 8e-12;  // of a distance in the tree of a small group, of which a query measures most rows
  constexpr double kList = 50e-9;  // the list of a query in a group, merged with its others
  const auto all = static_cast<double>(groups), columns = static_cast<double>(d);
  const double each = static_cast<double>(rows) / all;                              // rows of a group
  const double searches = static_cast<double>(count) * std::max(share * all, 1.0);  // of a query in a group
  const double searched = std::min(all, searches);
  const bool by_trees = each > static_cast<double>(largest_measured(neighbors)) &&
                        each < kSmaller * static_cast<double>(smallest_group(neighbors));
  const double pairs = by_trees ? searches * each * columns * kTree
                                : std::max(searches, kTile * searched) * each * (kScore + columns * kProduct);
  return kStart + searches * kList + pairs + searched * each * columns * 2.0 * kByte +
         static_cast<double>(count) * all * columns * kDistance;
}

double pairs_of(std::int64_t queries, std::int64_t rows) {
  return static_cast<double>(queries) * static_cast<double>(rows);
}

/// Of the rows of all groups, with their fp16 copies.
template <class T>
std::int64_t group_bytes(const HeldRows<T>& held) {
  constexpr std::int64_t kOrder = 24;  // keys and positions while they are sorted
  return held.rows() * (held.columns() * std::int64_t{sizeof(T)} + fp16_row_bytes(held.columns()) + kOrder);
}

bool fits(const Queries& queries, std::int64_t bytes) {
  return queries.working_bytes == 0 || bytes <= queries.working_bytes;
}

template <class T>
CellQueries cell_queries(const HeldRows<T>& held, const double* values, std::int64_t count, std::int64_t neighbors) {
  // A query that visits much of the tree keeps a single warp busy while the others have finished.
  constexpr std::int64_t kMinLeaves = 256;
  const std::int64_t leaves = held.rows() / kCellRows, share = held.cells.too_dense ? 2 : 16;
  return {.values = values,
          .count = count,
          .neighbors = neighbors,
          .first_row = held.first_row,
          .most_leaves = std::max(kMinLeaves, leaves / share)};
}

/// The largest change of D by the rounding of fp16 products, but for queries and rows far longer than the others.
struct Fp16Error {
  double error = 0.0;     // 0 if there are no such products
  double relative = 0.0;  // to the squared norm of the rows
};

template <class T>
Fp16Error fp16_error(const HeldRows<T>& held, const Queries& queries, std::int64_t neighbors) {
  if (!can_search_fp16(held, queries.measure, neighbors)) return {};
  const LargestNorms rows = find_long_rows(held).others;
  const Fp16Bound bound = usual_limits(held, rows).bound;
  const double score = bound.margin.at(static_cast<float>(rows.norm)) + bound.per_residual * rows.residual;
  return {std::ldexp(2.0 * score, 2 * fp16_exponent(held.plan.screen)), 2.0 * score / (rows.norm * rows.norm)};
}

/// The share of the sampled queries that products in fp16 leave ambiguous, and what their candidates cost in addition;
/// 0 if it is small. all: number of queries.
template <class T>
double ambiguous_share(const HeldRows<T>& held, const Queries& queries, const SearchSample& sample, double error,
                       std::int64_t neighbors, std::int64_t all) {
  constexpr double kLargestError = 0.5;
  constexpr std::int64_t kShare = 32;
  const std::int64_t count = sample.queries.rows();
  const std::int64_t near = std::count_if(sample.nearest.begin(), sample.nearest.end(),
                                          [&](double nearest) { return error > kLargestError * nearest; });
  if (kShare * near <= count) return 0.0;
  NeighborLists lists(count, neighbors);
  const Queries some{sample.queries.view(), -1, queries.measure, queries.working_bytes};
  constexpr double kDistance = 4.0;  // products in float32 that take as long as the distance of a candidate
  const std::int64_t batch = std::min(all, kMaxMinimaBytes / batch_query_bytes(held.rows(), neighbors));
  const auto left = static_cast<double>(search_fp16(held, some, lists, batch).size());
  const double measured = kDistance * static_cast<double>(lists.candidates) / static_cast<double>(held.rows());
  return (left + measured) / static_cast<double>(count);
}

/// What finding groups of rows may save.
struct GroupSavings {
  bool by_pruning = false;    // searches like those so far have taken longer, where groups could be left out
  bool by_precision = false;  // ambiguous products of this search take longer

  bool any() const { return by_pruning || by_precision; }
};

/// Nothing by what has been tried. Where a query needs most of the rows in a tree, it needs most groups.
template <class T>
GroupSavings group_savings(const HeldRows<T>& held, std::int64_t neighbors, std::int64_t count) {
  constexpr double kLargestShare = 0.6;
  const Cells<T>& cells = held.cells;
  if (!can_search_fp16(held, Measure::squared_euclidean, neighbors)) return {};
  const std::int64_t d = held.columns();
  const double pairs = pairs_of(count, held.rows()), products = product_seconds(pairs, d, 0.0);
  const double ambiguous = product_seconds(pairs, d, cells.ambiguous), cost = grouping_seconds(held.rows(), d);
  const double saved_by_tree = std::min(1.0, cell_seconds(pairs * cells.share, d, neighbors) / products);
  const bool by_pruning = !cells.tried_pruning && !cells.too_dense && cells.share <= kLargestShare &&
                          cells.requested_seconds * saved_by_tree > cost;
  return {by_pruning, !cells.tried_precision && ambiguous - products > cost};
}

/// Makes groups where they may pay and have not been tried. all: number of queries.
template <class T>
void try_groups(const HeldRows<T>& held, const Queries& queries, const SearchSample& sample, std::int64_t neighbors,
                std::int64_t all) {
  Cells<T>& cells = held.cells;
  if (cells.groups != nullptr || held.rows() < 2) return;
  const bool is_forced = held.context->forced.groups;
  const GroupSavings savings = group_savings(held, neighbors, all);
  const bool for_pruning = savings.by_pruning;
  const bool for_precision =
      is_forced || (!cells.tried_precision && cells.too_dense) || (savings.by_precision && !for_pruning);
  cells.tried_pruning = cells.tried_pruning || for_pruning;
  cells.tried_precision = cells.tried_precision || for_precision;
  if (!is_forced && !fits(queries, group_bytes(held))) return;
  if (for_precision) cells.groups = make_centered_groups(held, sample, GroupPurpose::precision);
  if (cells.groups == nullptr && for_pruning) {
    cells.groups = make_centered_groups(held, sample, GroupPurpose::pruning);
  }
}

/// The share of the pairs that a tree costs, by the distances and bounds that were computed: a box has two sides.
double share_of(const Word (&computed)[2], double pairs) {
  return (static_cast<double>(computed[0]) + 2.0 * static_cast<double>(computed[1])) / pairs;
}

/// What a tree over a sample of the rows tells about searches for lists of this length. all: number of queries.
template <class T>
void sample_cells(const HeldRows<T>& held, const Queries& queries, std::int64_t neighbors, std::int64_t all) {
  const std::int64_t n = held.rows(), d = held.columns(), q = queries.values.rows;
  const std::int64_t stride = std::max<std::int64_t>(n / kSampleRows, 1), rows = n / stride;
  const std::int64_t query_stride = std::max<std::int64_t>(q / kSampleQueries, 1);
  const std::int64_t count = (q + query_stride - 1) / query_stride;
  // One more than in the whole set, since a query may be a row of the sample.
  const std::int64_t k = std::min(neighbors / stride + 2, kMostCellNeighbors);
  SearchSample sample{Matrix<double>(count, d), {}, 0.0, most_centers(n, neighbors)};
  for (std::int64_t i = 0; i < count; ++i) {
    // One of each query_stride, not always the same one, since the queries may repeat with a period.
    const std::int64_t left = std::min(query_stride, q - i * query_stride);
    const std::int64_t among = random_below(0, 2, static_cast<std::uint64_t>(i), left);
    const auto from = queries.values.row(i * query_stride + among);
    std::copy(from.begin(), from.end(), sample.queries.row(i).begin());
  }
  const Stream& stream = held.stream();
  const Buffer<double> device_values(held.pool(), count * d), distance(held.pool(), count * k);
  const Buffer<std::int64_t> index(held.pool(), count * k);
  const Buffer<Word> work(held.pool(), 2);  // distances and bounds
  const CellTree<T> tree = build_cell_tree<T>(held, nullptr, stride, rows);
  stream.upload(device_values.data(), sample.queries.data(), sample.queries.size());
  stream.fill(work.data(), 0, 2);
  const CellOutcome out{{distance.data(), index.data()}, nullptr, work.data(), work.data() + 1};
  clear_lists(*held.context, out.lists, count * k);
  CellQueries request = cell_queries(held, device_values.data(), count, k);
  request.most_leaves = rows;
  launch_cells(*held.context, tree.view, request, out);
  Word computed[2] = {};
  stream.download(computed, work.data(), 2);
  Matrix<double> found(count, k);
  stream.download(found.data(), distance.data(), found.size());
  for (std::int64_t i = 0; i < count; ++i) sample.nearest.push_back(found(i, k - 1));
  const Fp16Error rounding = fp16_error(held, queries, neighbors);
  sample.error = rounding.relative;
  held.cells.share = share_of(computed, pairs_of(count, rows));
  held.cells.neighbors = neighbors;
  held.cells.ambiguous = ambiguous_share(held, queries, sample, rounding.error, neighbors, all);
  held.cells.too_dense = held.cells.ambiguous > kTooDense;
  try_groups(held, queries, sample, neighbors, all);
}

/// Whether the share is known for lists of about this length.
template <class T>
bool knows_share(const Cells<T>& cells, std::int64_t neighbors) {
  return neighbors <= 2 * cells.neighbors && cells.neighbors <= 2 * neighbors;
}

}  // namespace

template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const Queries& queries, std::int64_t neighbors,
                           std::int64_t count) {
  constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) - kCellRows - 1;  // positions are int32
  constexpr double kImpatience = 4.0;  // products of clustered rows take longer than those of others
  Cells<T>& cells = held.cells;
  const std::int64_t n = held.rows(), d = held.columns();
  if (queries.measure != Measure::squared_euclidean || neighbors > kMostCellNeighbors || d > kMostCellColumns ||
      held.sent || n == 0 || n > kMaxRows || cells.refused) {
    return SearchMethod::products;
  }
  const ForcedPaths& forced = held.context->forced;
  const double pairs = pairs_of(count, n);
  try {
    if (!forced.cells) {
      if (!fits(queries, cell_tree_bytes<T>(n, d))) return SearchMethod::products;
      cells.requested_seconds += product_seconds(pairs, d, cells.ambiguous);
      const bool pays = kImpatience * cells.requested_seconds > build_seconds(n, d) || forced.groups;
      if (cells.tree.is_empty() && cells.groups == nullptr && !pays) return SearchMethod::products;
      const GroupSavings savings = cells.neighbors > 0 ? group_savings(held, neighbors, count) : GroupSavings{};
      const bool tries_groups = cells.groups == nullptr && savings.any();
      if (!knows_share(cells, neighbors) || tries_groups) sample_cells(held, queries, neighbors, count);
      const double walk = cell_seconds(pairs * cells.share, d, neighbors),
                   products = product_seconds(pairs, d, cells.ambiguous);
      if (cells.groups != nullptr) {
        const double grouped =
            group_seconds(count, n, d, cells.groups->share, std::ssize(cells.groups->groups), neighbors);
        if (forced.groups || grouped < std::min(walk, products)) return SearchMethod::groups;
      }
      if (walk > products) return SearchMethod::products;
    }
    if (cells.tree.is_empty()) cells.tree = build_cell_tree<T>(held, nullptr, 1, n);
  } catch (const OutOfMemory&) {  // products need less memory
    cells.refused = true;
    return SearchMethod::products;
  }
  return SearchMethod::cells;
}

template <class T>
std::vector<std::int64_t> search_cells(const HeldRows<T>& held, const Queries& queries, bool unfilled,
                                       NeighborLists& lists) {
  constexpr std::int64_t kBatchBytes = std::int64_t{256} << 20;
  const std::int64_t q = queries.values.rows, k = lists.index.columns(), d = held.columns();
  const std::int64_t limit = queries.working_bytes > 0 ? queries.working_bytes : kBatchBytes;
  const std::int64_t bytes = std::min(limit, held.pool().available() / 4);
  const std::int64_t size = std::clamp<std::int64_t>(bytes / (d * 8 + k * 16 + 1), 1, q);
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const Buffer<double> values(held.pool(), size * d), distance(held.pool(), size * k);
  const Buffer<std::int64_t> index(held.pool(), size * k);
  const Buffer<unsigned char> given_up(held.pool(), size);
  const Buffer<Word> work(held.pool(), 2);  // distances and bounds
  const CellOutcome out{{distance.data(), index.data()}, given_up.data(), work.data(), work.data() + 1};
  stream.fill(work.data(), 0, 2);
  std::vector<std::int64_t> fallback;
  std::vector<unsigned char> flags(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < q; first += size) {
    const std::int64_t count = std::min(size, q - first);
    stream.upload(values.data(), queries.values.data + first * d, count * d);
    if (unfilled) {
      clear_lists(context, out.lists, count * k);
    } else {
      stream.upload(distance.data(), lists.distance.data() + first * k, count * k);
      stream.upload(index.data(), lists.index.data() + first * k, count * k);
    }
    CellQueries request = cell_queries(held, values.data(), count, k);
    request.excluded = queries.excluded_row + first - held.first_row;
    request.has_excluded = queries.excluded_row >= 0;
    launch_cells(context, held.cells.tree.view, request, out);
    stream.download(flags.data(), given_up.data(), count);
    stream.download(lists.distance.data() + first * k, distance.data(), count * k);
    stream.download(lists.index.data() + first * k, index.data(), count * k);
    for (std::int64_t i = 0; i < count; ++i) {
      if (flags[static_cast<std::size_t>(i)] != 0) fallback.push_back(first + i);
    }
  }
  Word computed[2] = {};
  stream.download(computed, work.data(), 2);
  lists.candidates += static_cast<std::int64_t>(computed[0]);
  constexpr std::int64_t kEnough = 64;  // queries that represent others
  if (q >= kEnough) {
    held.cells.share = share_of(computed, pairs_of(q, held.rows()));
    held.cells.neighbors = k;
  }
  return fallback;
}

#define KITH_INSTANTIATE(T)                                                                            \
  template SearchMethod choose_search(const HeldRows<T>&, const Queries&, std::int64_t, std::int64_t); \
  template std::vector<std::int64_t> search_cells(const HeldRows<T>&, const Queries&, bool, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
