// The neighbour search on the tensor cores: queries are the rows of the fp16 product, base rows its columns. Thread
// blocks divide the columns as well, so that few queries keep the device busy; very few take few_query_minima.h.
//
// The result is complete by the argument of float32_search.cu, with fp16 scores for the limits and float32 sums of fp16
// products for the candidates. The search takes 2 q n d operations and writes q n / 8 bytes of minima.
//
// Rows far longer than the others do not take part in the product; their tree is searched when the lists hold the
// nearest of the others (long_rows.h).
#include "kernels/cuda/search/fp16_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/distance.h"
#include "kernels/cuda/search/cell_launch.h"
#include "kernels/cuda/search/few_query_minima.h"
#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/fp16_operands.h"
#include "kernels/cuda/search/gathered_queries.h"
#include "kernels/cuda/search/long_rows.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMaxMinimaBytes = std::int64_t{1} << 32;  // of a batch of queries

/// Whether a second product that lists the candidates is faster than reading each group that may contain a neighbour,
/// about k per query: at 350 TFLOP/s for whole tiles of queries, and 4 TB/s.
bool needs_second_product(std::int64_t rows, std::int64_t queries, std::int64_t neighbors) {
  constexpr std::int64_t kGroupInRows = 2048;  // rows multiplied in the time of reading a group
  const std::int64_t tiled = (queries + kQueryTile - 1) / kQueryTile * kQueryTile;
  return static_cast<double>(queries * neighbors) * kGroupInRows >
         static_cast<double>(tiled) * static_cast<double>(rows);
}

/// Queries per batch: few enough that a batch is searched while the next one is uploaded, within the device's memory.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& request, std::int64_t neighbors) {
  constexpr std::int64_t kBatches = 2, kMinBatch = 2048;  // smaller batches do not fill the device
  constexpr std::int64_t kSmallTile = 64;                 // used if the caller limits the memory
  const std::int64_t queries = request.values.rows, tiles = row_groups_of(held.rows());
  const std::int64_t listed =
      needs_second_product(held.rows(), queries, neighbors) ? candidate_capacity(neighbors) * 4 : 0;
  const std::int64_t query_bytes = tiles * kQuarters * 5 + 2 * (held.columns() * 16 + neighbors * 16) + listed;
  const std::int64_t bytes = request.working_bytes > 0 ? request.working_bytes : kMaxMinimaBytes;
  const std::int64_t tile = request.working_bytes > 0 ? kSmallTile : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / query_bytes / tile * tile;
  const std::int64_t share = (queries / kBatches + kQueryTile - 1) / kQueryTile * kQueryTile;
  return std::clamp(std::min(fitting, std::max(share, kMinBatch)), std::min(queries, tile), queries);
}

/// Whether long rows can be held apart in a search for lists of `neighbors`.
bool can_hold_apart(Measure measure, std::int64_t neighbors) {
  return measure == Measure::squared_euclidean && neighbors <= kMostCellNeighbors;
}

/// Searches batches of queries. A batch is searched while the lists of the previous one are downloaded and the queries
/// of the next one uploaded.
template <class T>
class Fp16Search {
 public:
  /// max_query_norm: 0 for the usual limit.
  Fp16Search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists, double max_query_norm)
      : held_(held),
        queries_(queries),
        lists_(lists),
        apart_(can_hold_apart(queries.measure, lists.index.columns())),
        base_(apart_ ? without_long_rows(held, max_query_norm, score_base_) : search_base(held, queries.measure)),
        size_(batch_queries(held, queries, k())),
        minima_{nullptr, nullptr, base_.tile_count()},
        group_min_(held.pool(), size_ * minima_.groups()),
        block_min_(held.pool(), size_ * minima_.blocks()),
        candidates_(held.pool(), 1) {
    minima_.group_min = group_min_.data();
    minima_.block_min = block_min_.data();
    for (int i = 0; i < (size_ < queries.values.rows ? 2 : 1); ++i) {
      buffers_[i].queries = allocate_fp16_queries(held, queries.measure, size_);
      buffers_[i].distance = Buffer<double>(held.pool(), size_ * k());
      buffers_[i].index = Buffer<std::int64_t>(held.pool(), size_ * k());
    }
    if (!needs_second_product(held.rows(), size_, k())) return;
    limit_ = Buffer<float>(held.pool(), size_);
    listed_count_ = Buffer<unsigned>(held.pool(), size_);
    listed_ = Buffer<std::int32_t>(held.pool(), size_ * candidate_capacity(k()));
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
    upload_queries(held_, held_.context->link, queries_.values.data + batch * size_ * base_.d, count(batch),
                   buffers_[batch % 2].queries);
  }

  /// Asynchronous.
  void search(std::int64_t batch) const {
    const Context& context = *held_.context;
    const Fp16Queries& fp16_queries = buffers(batch).queries;
    round_queries(held_, count(batch), fp16_queries);
    const SearchQueries queries{.values = fp16_queries.values.data(),
                                .tiles = fp16_queries.fp16.values.data(),
                                .shape = held_.fp16.shape,
                                .norm = fp16_queries.fp16.norm.data(),
                                .residual = fp16_queries.fp16.residual.data(),
                                .minima = minima_,
                                .count = count(batch),
                                .neighbors = k(),
                                .excluded = queries_.excluded_row + batch * size_ - held_.first_row,
                                .has_excluded = queries_.excluded_row >= 0};
    const ListOutput output{buffers(batch).distance.data(), buffers(batch).index.data(), candidates_.data()};
    const Fp16Problem problem = search_problem(held_, base_, queries.tiles, queries.count);
    if (queries.count <= kFewQueries) {
      find_few_query_minima(context.stream, base_.tiles, base_.score_base, queries);
    } else if (queries.count <= kFp16TileRows && context.screen == ScreenPath::wgmma) {
      context.stream.fill(minima_.block_min, 0x7F, queries.count * minima_.blocks());
      launch_wgmma<KeepSharedMinima>(context, problem, minima_);
    } else {
      launch_product<KeepMinima>(context, problem, minima_);
    }
    if (listed_.size() == 0) {
      find_lists(context, base_, queries, output);
    } else {
      const RowLists listed{limit_.data(), listed_.data(), listed_count_.data(),
                            static_cast<unsigned>(candidate_capacity(k()))};
      find_limits(context, base_, queries, limit_.data());
      context.stream.fill(listed_count_.data(), 0, queries.count);
      launch_product<ListBelowLimit>(context, problem, listed);
      finish_lists(context, base_, queries, listed, output);
    }
    if (apart_ && !held_.long_rows.tree.is_empty()) merge_long_rows(queries, output);
  }

  /// Merges the nearest of the long rows into the lists that are filled. Asynchronous.
  void merge_long_rows(const SearchQueries& queries, const ListOutput& output) const {
    const CellView<T>& tree = held_.long_rows.tree.view;
    launch_cells(*held_.context, tree,
                 {.values = queries.values,
                  .count = queries.count,
                  .neighbors = k(),
                  .excluded = queries.excluded,
                  .has_excluded = queries.has_excluded,
                  .only_filled = true,
                  .first_row = held_.first_row,
                  .most_leaves = tree.nodes[0]},
                 {{output.distance, output.index}, nullptr, output.candidates});
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
  bool apart_;                // long rows are held apart
  Buffer<float> score_base_;  // only with an unusual limit
  SearchBase<T> base_;
  std::int64_t size_;  // queries of a batch
  GroupMinima minima_;
  Buffer<float> group_min_, block_min_;
  Buffer<Word> candidates_;
  BatchBuffers buffers_[2];
  // Only for a second product.
  Buffer<float> limit_;
  Buffer<unsigned> listed_count_;
  Buffer<std::int32_t> listed_;  // (queries, capacity)
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
bool can_search_fp16(const HeldRows<T>& held, Measure measure, std::int64_t neighbors) {
  return has_fp16_scores(held, measure) &&
         can_find_lists(*held.context, held.rows(), neighbors, candidate_capacity(neighbors));
}

template <class T>
std::vector<std::int64_t> search_fp16(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  return Fp16Search<T>(held, queries, lists, 0).run();
}

namespace {

/// The norm of a row in the unit of the fp16 rows, without their rounding; infinite if fp16 cannot hold it.
template <class T>
double fp16_norm(const HeldRows<T>& held, std::span<const double> row) {
  constexpr double kUp = 1 << kFp16Shift, kLargest = 65000.0;
  const ScreenTransform& screen = held.plan.screen;
  const double scale = std::ldexp(1.0, -screen.exponent);
  double sum = 0.0, largest = 0.0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double value = kUp * (row[j] * scale - static_cast<double>(screen.center[j]));
    largest = std::max(largest, std::abs(value));
    sum += value * value;
  }
  return largest < kLargest ? std::sqrt(sum) : std::numeric_limits<double>::infinity();
}

}  // namespace

template <class T>
std::vector<std::int64_t> search_long_queries(const HeldRows<T>& held, const Queries& queries,
                                              const std::vector<std::int64_t>& fallback, NeighborLists& lists) {
  constexpr double kRounding = 1 + 0x1p-8;  // covers that of fp16
  const bool excludes = queries.excluded_row >= 0;
  // The queries are no longer consecutive rows, so that each finds itself.
  const std::int64_t k = lists.index.columns(), searched = k + (excludes ? 1 : 0);
  if (!can_hold_apart(queries.measure, searched) || !can_search_fp16(held, queries.measure, searched)) return fallback;
  const double usual = usual_limits(held, find_long_rows(held).others).max_query_norm;
  std::vector<std::int64_t> chosen, remaining;
  double longest = 0.0;
  for (const std::int64_t q : fallback) {
    const double norm = fp16_norm(held, queries.values.row(q));
    const bool is_long = norm > usual / kRounding && std::isfinite(norm);
    (is_long ? chosen : remaining).push_back(q);
    if (is_long) longest = std::max(longest, norm);
  }
  search_gathered(queries, chosen, lists, [&](const Queries& long_queries, NeighborLists& found) {
    Fp16Search<T>(held, long_queries, found, longest * kRounding).run();
  });
  for (const std::int64_t q : chosen) {
    if (lists.index(q, 0) < 0) remaining.push_back(q);
  }
  std::sort(remaining.begin(), remaining.end());
  return remaining;
}

#define KITH_INSTANTIATE(T)                                                                           \
  template bool can_search_fp16(const HeldRows<T>&, Measure, std::int64_t);                           \
  template std::vector<std::int64_t> search_fp16(const HeldRows<T>&, const Queries&, NeighborLists&); \
  template std::vector<std::int64_t> search_long_queries(const HeldRows<T>&, const Queries&,          \
                                                         const std::vector<std::int64_t>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
