// The choice between products with all rows, the tree, and products with the rows of each cell.
//
// A sample tells: the share of the rows whose distances or boxes a query computes in a tree over some rows is an upper
// estimate of the share in the whole tree, whose leaves are smaller.
#include "kernels/cuda/search/operations.h"

#include <algorithm>
#include <cmath>

#include "core/numbers/philox.h"
#include "kernels/cuda/search/cells.h"
#include "kernels/cuda/search/float32_scores.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kSampleRows = 1 << 15;
constexpr std::int64_t kSampleQueries = 128;

/// Rows of a cell in which products find the nearest: few enough of its minima of 32 rows are those of neighbours.
/// Smaller cells are searched in trees, which is slow.
std::int64_t smallest_cell(std::int64_t neighbors) { return 64 * (neighbors + 2); }

/// Bytes of the rows of all cells, with their fp16 copies.
template <class T>
std::int64_t cell_bytes(const HeldRows<T>& held) {
  constexpr std::int64_t kOrder = 24;  // keys and positions while they are sorted
  return held.rows() * (held.columns() * std::int64_t{sizeof(T)} + fp16_row_bytes(held.columns()) + kOrder);
}

bool fits(const Queries& queries, std::int64_t bytes) {
  return queries.working_bytes == 0 || bytes <= queries.working_bytes;
}

/// The largest change of D by the rounding of fp16 products, but for queries and rows far longer than the others.
struct Fp16Error {
  double error = 0.0;     // 0 if there are no such products
  double relative = 0.0;  // to the squared norm of the rows
};

template <class T>
Fp16Error fp16_error(const HeldRows<T>& held, const SearchSize& size) {
  if (!size.has_fp16) return {};
  const LargestNorms rows = find_long_rows(held).others;
  const Fp16Bound bound = usual_limits(held, rows).bound;
  const double score = bound.margin.at(static_cast<float>(rows.norm)) + bound.per_residual * rows.residual;
  return {std::ldexp(2.0 * score, 2 * fp16_exponent(held.plan.screen)), 2.0 * score / (rows.norm * rows.norm)};
}

/// The share of the sampled queries that products in fp16 leave ambiguous, and what their candidates cost in addition;
/// 0 if the rounding is small beside the distances.
template <class T>
double sampled_ambiguous_share(const HeldRows<T>& held, const Queries& queries, const SearchSample& sample,
                               double error, const SearchSize& size) {
  const auto may_be = [&](double nearest) { return may_be_ambiguous(error, nearest); };
  if (std::none_of(sample.nearest.begin(), sample.nearest.end(), may_be)) return 0.0;
  NeighborLists lists(sample.queries.rows(), size.neighbors);
  const Queries some{sample.queries.view(), -1, queries.measure, queries.working_bytes};
  const std::int64_t batch = std::min(size.queries, kMaxMinimaBytes / batch_query_bytes(size.rows, size.neighbors));
  SearchSize sampled = size;
  sampled.queries = sample.queries.rows();
  const std::int64_t left = std::ssize(search_fp16(held, some, lists, batch));
  return ambiguous_share(held.context->machine, sampled, left, lists.candidates);
}

/// Makes cells where they may be worth their cost and have not been tried.
template <class T>
void try_cells(const HeldRows<T>& held, const Queries& queries, const SearchSample& sample, const SearchSize& size) {
  SearchIndex<T>& index = held.index;
  if (index.cells != nullptr || size.rows < 2) return;
  const bool is_forced = held.context->forced.cells;
  CellPurposes purposes = worthwhile_cells(held.context->machine, size, index);
  purposes.precision =
      is_forced || (!index.tried_precision && index.too_dense) || (purposes.precision && !purposes.pruning);
  index.tried_pruning = index.tried_pruning || purposes.pruning;
  index.tried_precision = index.tried_precision || purposes.precision;
  if (!is_forced && !fits(queries, cell_bytes(held))) return;
  if (purposes.precision) index.cells = make_cells(held, sample, CellPurpose::precision);
  if (index.cells == nullptr && purposes.pruning) index.cells = make_cells(held, sample, CellPurpose::pruning);
}

/// What a tree over a sample of the rows tells about searches like this one.
template <class T>
void sample_tree(const HeldRows<T>& held, const Queries& queries, const SearchSize& size) {
  const std::int64_t n = size.rows, d = size.columns, q = queries.values.rows;
  const std::int64_t stride = std::max<std::int64_t>(n / kSampleRows, 1), rows = n / stride;
  const std::int64_t query_stride = std::max<std::int64_t>(q / kSampleQueries, 1);
  const std::int64_t count = (q + query_stride - 1) / query_stride;
  // One more than in the whole set, since a query may be a row of the sample.
  const std::int64_t k = std::min(size.neighbors / stride + 2, kMostTreeNeighbors);
  SearchSample sample{Matrix<double>(count, d), {}, 0.0, std::min(kMostCenters, n / smallest_cell(size.neighbors))};
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
  const BoxTree<T> tree = build_tree<T>(held, nullptr, stride, rows);
  stream.upload(device_values.data(), sample.queries.data(), sample.queries.size());
  stream.fill(work.data(), 0, 2);
  const TreeOutcome out{{distance.data(), index.data()}, nullptr, work.data(), work.data() + 1};
  clear_lists(*held.context, out.lists, count * k);
  TreeQueries request = tree_queries(held, device_values.data(), count, k);
  request.most_leaves = rows;
  launch_tree(*held.context, tree.view, request, out);
  Word computed[2] = {};
  stream.download(computed, work.data(), 2);
  Matrix<double> found(count, k);
  stream.download(found.data(), distance.data(), found.size());
  for (std::int64_t i = 0; i < count; ++i) sample.nearest.push_back(found(i, k - 1));
  const Fp16Error rounding = fp16_error(held, size);
  sample.error = rounding.relative;
  held.index.share = computed_share(computed, count, rows);
  held.index.neighbors = size.neighbors;
  held.index.ambiguous = sampled_ambiguous_share(held, queries, sample, rounding.error, size);
  held.index.too_dense = is_too_dense(held.index.ambiguous);
  try_cells(held, queries, sample, size);
}

/// Why a search can only be one of products; null if it need not be.
template <class T>
const char* why_only_products(const HeldRows<T>& held, const Queries& queries, std::int64_t neighbors) {
  constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) - kLeafRows - 1;  // positions are int32
  if (is_of_bits(queries.measure)) return "rows of bits";
  if (queries.measure != Measure::squared_euclidean) return "neither Euclidean nor cosine distances";
  if (neighbors > kMostTreeNeighbors) return "more than 128 neighbours";
  if (held.columns() > kMostTreeColumns) return "more than 3840 columns";
  if (held.sent || held.rows() == 0 || held.rows() > kMaxRows) return "not all rows are on the device";
  if (held.index.refused) return "not enough memory for a tree";
  return nullptr;
}

/// choose_search() where a tree is possible.
template <class T>
SearchChoice choose_by_sample(const HeldRows<T>& held, const Queries& queries, const SearchSize& size) {
  SearchIndex<T>& index = held.index;
  const Machine& machine = held.context->machine;
  const ForcedPaths& forced = held.context->forced;
  if (forced.trees) return forced_method(SearchMethod::tree);
  if (!fits(queries, tree_bytes<T>(size.rows, size.columns)))
    return only_products(machine, size, index, "not enough memory for a tree");
  index.requested_seconds += products_seconds(machine, size, index.ambiguous);
  const bool has_neither = index.tree.is_empty() && index.cells == nullptr;
  if (has_neither && !forced.cells && !is_sample_worth(machine, size, index))
    return only_products(machine, size, index, "so few pairs that finding another method would take longer");
  const bool tries_cells = index.cells == nullptr && worthwhile_cells(machine, size, index).any();
  if (!knows_share(index, size.neighbors) || tries_cells) sample_tree(held, queries, size);
  if (index.cells == nullptr) return choose_method(machine, size, index, {});
  if (forced.cells) return forced_method(SearchMethod::cells);
  return choose_method(machine, size, index, CellsShape{std::ssize(index.cells->cells), index.cells->share});
}

}  // namespace

template <class T>
SearchMethod choose_search(const HeldRows<T>& held, const Queries& queries, std::int64_t neighbors,
                           std::int64_t count) {
  const SearchSize size{.rows = held.rows(),
                        .columns = held.columns(),
                        .queries = count,
                        .neighbors = neighbors,
                        .is_float64 = std::is_same_v<T, double>,
                        // Eight bits are multiplied in the time of a value of fp16.
                        .has_fp16 = multiplies_bits(*held.context, queries.measure, held.columns()) ||
                                    can_search_fp16(held, queries.measure, neighbors)};
  const auto only = [&](const char* reason) { return only_products(held.context->machine, size, held.index, reason); };
  const char* const reason = why_only_products(held, queries, neighbors);
  SearchChoice choice;
  try {
    choice = reason != nullptr ? only(reason) : choose_by_sample(held, queries, size);
    if (choice.method == SearchMethod::tree && held.index.tree.is_empty())
      held.index.tree = build_tree<T>(held, nullptr, 1, held.rows());
  } catch (const OutOfMemory&) {  // products need less memory
    held.index.refused = true;
    choice = only("not enough memory for a tree");
  }
  held.context->decisions.add(std::move(choice.decision));
  return choice.method;
}

#define KITH_INSTANTIATE(T) \
  template SearchMethod choose_search(const HeldRows<T>&, const Queries&, std::int64_t, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
