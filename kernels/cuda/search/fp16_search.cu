// Searches batches of queries: those on the device, and those that are uploaded while the batch before is searched.
//
// Thread blocks divide the columns of the product as well, so that few queries keep the device busy. Queries with many
// candidates, which are in dense parts of the rows, are multiplied once more.
//
// The result is complete by the argument of float32_search.cu, with fp16 scores for the limits and float32 sums of fp16
// products for the candidates. The search takes 2 q n d operations and writes q n / 8 bytes of minima.
//
// Rows far longer than the others do not take part in the product; their tree is searched when the lists hold the
// nearest of the others.
#include "kernels/cuda/search/fp16_search.h"

#include <utility>

#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

/// Whether a second product that lists the candidates is faster than reading each group that may contain a neighbour,
/// about k per query, if there are not unusually many candidates.
template <class T>
bool needs_second_product(const HeldRows<T>& held, std::int64_t queries, std::int64_t neighbors) {
  const std::int64_t tiled = (queries + kQueryTile - 1) / kQueryTile * kQueryTile;
  return static_cast<double>(queries * neighbors * rows_in_time_of_block(held.context->machine, held.columns())) >
         static_cast<double>(tiled) * static_cast<double>(held.rows());
}

/// What a query may take before it is dense.
template <class T>
ListLimits limits_of_query(const HeldRows<T>& held, std::int64_t neighbors) {
  constexpr std::int64_t kUsual = 64;  // groups of a query, besides those of its neighbours
  return {candidate_capacity(neighbors),
          std::max(4 * neighbors + kUsual, held.rows() / rows_in_time_of_block(held.context->machine, held.columns()))};
}

/// Bytes of the minima of a query.
std::int64_t minima_bytes(std::int64_t rows) { return row_groups_of(rows) * kQuarters * 5; }

constexpr std::int64_t kListedShare = 2;  // bytes of minima / bytes of listed candidates of many queries

/// Candidates that a second product lists for a query, at most.
template <class T>
std::int64_t listed_capacity(const HeldRows<T>& held, const BatchSearch& search) {
  // A distance by the definition takes as long as the float32 products of so many rows.
  constexpr std::int64_t kDistance = 16, kMostBytes = std::int64_t{1} << 26, kShare = 16;
  const std::int64_t few = std::min(kMostBytes, held.pool().available() / kShare) / search.alike();
  const std::int64_t bytes = std::max(few, minima_bytes(held.rows()) / kListedShare);
  return std::max(std::min(held.rows() / kDistance, bytes / std::int64_t{sizeof(std::int32_t)}),
                  candidate_capacity(search.neighbors));
}

}  // namespace

std::int64_t batch_query_bytes(std::int64_t base, std::int64_t neighbors) {
  return minima_bytes(base) + std::max(minima_bytes(base) / kListedShare,
                                       candidate_capacity(neighbors) * std::int64_t{sizeof(std::int32_t)});
}

bool can_hold_apart(Measure measure, std::int64_t neighbors) {
  return measure == Measure::squared_euclidean && neighbors <= kMostTreeNeighbors;
}

template <class T>
Fp16Batch<T>::Fp16Batch(const HeldRows<T>& held, const BatchSearch& search)
    : held_(held),
      neighbors_(search.neighbors),
      lists_all_(needs_second_product(held, search.alike(), search.neighbors)),
      listed_capacity_(listed_capacity(held, search)),
      apart_(can_hold_apart(search.measure, search.neighbors)),
      base_(apart_ ? without_long_rows(held, search.max_query_norm, score_base_) : search_base(held, search.measure)),
      minima_{nullptr, nullptr, base_.tile_count()},
      group_min_(held.pool(), search.most * minima_.groups()),
      block_min_(held.pool(), search.most * minima_.blocks()),
      limit_(held.pool(), search.most),
      listed_count_(held.pool(), search.most),
      listed_(held.pool(), search.most * listed_capacity_) {
  minima_.group_min = group_min_.data();
  minima_.block_min = block_min_.data();
  if (lists_all_) return;
  const Fp16Layout shape = held.fp16.shape;
  dense_ = Buffer<std::int32_t>(held.pool(), search.most);
  dense_count_ = Buffer<Word>(held.pool(), 1);
  dense_tiles_ = Buffer<uint4>(
      held.pool(), row_groups_of(search.most) * kFp16TileRows * std::int64_t{shape.depth_tiles} * shape.chunks);
}

template <class T>
void Fp16Batch<T>::search(SearchQueries queries, const ListOutput& output) const {
  const Context& context = *held_.context;
  queries.minima = minima_;
  queries.neighbors = neighbors_;
  const Fp16Problem problem = search_problem(held_, base_, queries.tiles, queries.count);
  launch_product<KeepMinima>(context, problem, minima_);
  if (lists_all_) {
    find_limits(context, base_, queries, limit_.data());
    context.stream.fill(listed_count_.data(), 0, queries.count);
    launch_product<ListBelowLimit>(context, problem, listed());
    finish_lists(context, base_, queries, listed(), output);
  } else {
    context.stream.fill(dense_count_.data(), 0, 1);
    find_lists(context, base_, queries, limits_of_query(held_, neighbors_), output, dense());
    list_dense(queries, problem, output);
  }
  if (apart_ && !held_.long_rows.tree.is_empty()) merge_long_rows(queries, output);
}

/// Finds the lists of dense queries by a second product. Asynchronous.
template <class T>
void Fp16Batch<T>::list_dense(const SearchQueries& queries, const Fp16Problem& problem,
                              const ListOutput& output) const {
  const Context& context = *held_.context;
  const Count count{queries.count, dense_count_.data()};
  gather_fp16_tiles(context, queries.tiles, dense_.data(), count, queries.shape, dense_tiles_.data());
  Fp16Problem again = problem;
  again.points = dense_tiles_.data();
  again.rows = count;
  context.stream.fill(listed_count_.data(), 0, queries.count);
  launch_product<ListBelowLimit>(context, again, listed());
  finish_lists(context, base_, queries, listed(), output, dense());
}

/// Merges the nearest of the long rows into the lists that are filled. Asynchronous.
template <class T>
void Fp16Batch<T>::merge_long_rows(const SearchQueries& queries, const ListOutput& output) const {
  const TreeView<T>& tree = held_.long_rows.tree.view;
  TreeQueries all_leaves = in_tree(held_, tree, queries, neighbors_);
  all_leaves.only_filled = true;
  all_leaves.lengths = {queries.norm, queries.residual, held_.fp16.shortest_longer, fp16_unit(held_)};
  launch_tree(*held_.context, tree, all_leaves, {{output.distance, output.index}, nullptr, output.candidates});
}

namespace {

/// Queries per batch: few enough that a batch is searched while the next one is uploaded, within the device's memory.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& request, std::int64_t neighbors) {
  constexpr std::int64_t kBatches = 2, kMinBatch = 2048;  // smaller batches do not fill the device
  constexpr std::int64_t kSmallTile = 64;                 // used if the caller limits the memory
  const std::int64_t queries = request.values.rows;
  const std::int64_t query_bytes =
      batch_query_bytes(held.rows(), neighbors) + 2 * (held.columns() * 16 + neighbors * 16);
  const std::int64_t bytes = request.working_bytes > 0 ? request.working_bytes : kMaxMinimaBytes;
  const std::int64_t tile = request.working_bytes > 0 ? kSmallTile : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / query_bytes / tile * tile;
  const std::int64_t share = (queries / kBatches + kQueryTile - 1) / kQueryTile * kQueryTile;
  return std::clamp(std::min(fitting, std::max(share, kMinBatch)), std::min(queries, tile), queries);
}

/// Searches batches of queries. A batch is searched while the lists of the previous one are downloaded and the queries
/// of the next one uploaded.
template <class T>
class Fp16Search {
 public:
  /// sampled: as in BatchSearch.
  Fp16Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists, std::int64_t sampled)
      : held_(held),
        queries_(queries),
        lists_(lists),
        size_(batch_queries(held, queries, k())),
        batch_(held, {.measure = queries.measure, .neighbors = k(), .most = size_, .sampled = sampled}),
        candidates_(held.pool(), 1) {
    for (int i = 0; i < (size_ < queries.values.rows ? 2 : 1); ++i) {
      buffers_[i].queries = allocate_fp16_queries(held, queries.measure, size_);
      buffers_[i].distance = Buffer<double>(held.pool(), size_ * k());
      buffers_[i].index = Buffer<std::int64_t>(held.pool(), size_ * k());
    }
  }

  /// Returns the fallback queries.
  std::vector<std::int64_t> run() {
    const Stream &stream = held_.stream(), &link = held_.context->link;
    const std::int64_t batches = (queries_.values.rows + size_ - 1) / size_;
    stream.fill(candidates_.data(), 0, 1);
    link.wait_for(stream);  // earlier work on the stream may still use the pool's memory
    upload(0);
    for (std::int64_t b = 0; b < batches; ++b) {
      stream.wait_for(link);
      search(b);
      if (b > 0) download(b - 1);
      if (b + 1 < batches) upload(b + 1);
      link.wait_for(stream);
    }
    download(batches - 1);
    Word candidates = 0;
    stream.download(&candidates, candidates_.data(), 1);
    lists_.candidates += static_cast<std::int64_t>(candidates);
    return std::move(fallback_);
  }

 private:
  /// Queries and lists of a batch; batches alternate between two of them.
  struct BatchBuffers {
    Fp16Queries queries;
    Buffer<double> distance;
    Buffer<std::int64_t> index;
  };

  std::int64_t k() const { return lists_.index.columns(); }
  std::int64_t count(std::int64_t batch) const { return std::min(size_, queries_.values.rows - batch * size_); }
  const BatchBuffers& buffers(std::int64_t batch) const { return buffers_[batch % 2]; }

  void upload(std::int64_t batch) {
    upload_queries(held_, held_.context->link, queries_.values.data + batch * size_ * held_.columns(), count(batch),
                   buffers_[batch % 2].queries);
  }

  /// Asynchronous.
  void search(std::int64_t batch) const {
    const Fp16Queries& fp16_queries = buffers(batch).queries;
    round_queries(held_, count(batch), fp16_queries);
    batch_.search({.values = fp16_queries.values.data(),
                   .tiles = fp16_queries.fp16.values.data(),
                   .shape = held_.fp16.shape,
                   .norm = fp16_queries.fp16.norm.data(),
                   .residual = fp16_queries.fp16.residual.data(),
                   .minima = {},
                   .count = count(batch),
                   .excluded = queries_.excluded_row + batch * size_ - held_.first_row,
                   .has_excluded = queries_.excluded_row >= 0},
                  {buffers(batch).distance.data(), buffers(batch).index.data(), candidates_.data()});
  }

  /// Waits for the lists.
  void download(std::int64_t batch) {
    const std::int64_t first = batch * size_;
    const Stream& link = held_.context->link;
    link.download(lists_.distance.data() + first * k(), buffers(batch).distance.data(), count(batch) * k());
    link.download(lists_.index.data() + first * k(), buffers(batch).index.data(), count(batch) * k());
    for (std::int64_t q = first; q < first + count(batch); ++q) {
      if (lists_.index(q, 0) < 0) fallback_.push_back(q);
    }
  }

  const HeldRows<T>& held_;
  const Queries& queries_;
  NeighborLists& lists_;
  std::int64_t size_;  // queries of a batch
  Fp16Batch<T> batch_;
  Buffer<Word> candidates_;
  BatchBuffers buffers_[2];
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
bool can_search_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors) {
  return has_fp16_scores(held, measure) &&
         can_find_lists(*held.context, held.rows(), neighbors, candidate_capacity(neighbors));
}

template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists,
                                      std::int64_t sampled) {
  return Fp16Search<T>(held, queries, lists, sampled).run();
}

#define KITH_INSTANTIATE(T)                                                 \
  template class Fp16Batch<T>;                                              \
  template bool can_search_fp16(const HeldRows<T>&, Measure, std::int64_t); \
  template std::vector<std::int64_t> search_fp16(const HeldRows<T>&, const Queries&, NeighborLists&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
