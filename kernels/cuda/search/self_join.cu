// The nearest rows of every row, each pair multiplied once: a limit for each row's scores from a sample of the rows,
// the upper half of the product of all rows with themselves, whose scores serve both rows of a pair, and lists by the
// definition (fp16_lists.h).
//
// Cost: n^2 d operations and those of the sample, 2 n s d for s rows of it, where searches take 2 n^2 d; then k n / s
// rows of d values for each row. The larger the sample, the fewer rows come within the limits: s = 20 (k n)^(1/2)
// balances 600 TFLOP/s and 3 TB/s. Narrow or few rows lose: to note pairs and to sort them out takes as long as what is
// not multiplied.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/joined_rows.h"
#include "kernels/cuda/search/pairs_epilogue.h"

namespace kith::cuda {
namespace {

// Where it pays.
constexpr std::int64_t kLeastColumns = 256, kLeastValues = 150'000'000;
constexpr double kMostOfRows = 0.25;  // in the sample

constexpr std::int64_t kRun = 32;             // tiles of columns that all rows of a slab pass before the next ones
constexpr std::int64_t kSlabs = 32;           // of rows: one after the other has its pairs with the rows from it on
constexpr std::int64_t kLeastSlab = 2048;     // rows that keep the device busy
constexpr std::int64_t kRoomForExpected = 3;  // times as many as a list is expected to get
constexpr std::int64_t kFew = 16;             // a share of the rows whose lists may stay unfilled
static_assert(kLeastSlab % kQueryTile == 0, "slabs are whole tiles of rows");

/// Adds each row of a noted pair that the other one wants to the other one's list, and empties the log. row: of the
/// places that pairs name.
__global__ void lists_kernel(const PairLog log, const std::int32_t* row, const RowLists lists) {
  const auto add = [&](unsigned place, unsigned other) {
    const std::int64_t list = row[place & ~NotedPair::kWants];
    const unsigned at = atomicAdd(&lists.count[list], 1U);
    if (at < lists.capacity) lists.row[lists.first(list) + at] = row[other & ~NotedPair::kWants];
  };
  const auto used = static_cast<std::int64_t>(min(*log.used, log.capacity));
  for (std::int64_t i = thread_index(); i < used; i += thread_count()) {
    const NotedPair pair = log.pairs[i];
    log.pairs[i] = {};
    if ((pair.first & NotedPair::kWants) != 0) add(pair.first, pair.second);
    // A row that is its own neighbour is so once.
    const bool itself = ((pair.first ^ pair.second) & ~NotedPair::kWants) == 0;
    if ((pair.second & NotedPair::kWants) != 0 && !itself) add(pair.second, pair.first);
  }
}

/// Counts lists that are longer than their room.
__global__ void overfull_kernel(const RowLists lists, std::int64_t rows, Word* overfull) {
  Word mine = 0;
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) mine += lists.count[i] > lists.capacity ? 1 : 0;
  if (mine > 0) atomicAdd(overfull, mine);
}

/// What a join of some size takes.
struct JoinSizes {
  std::int64_t stride = 1;    // of the sample
  std::int64_t capacity = 0;  // of a list
  std::int64_t log = 0;       // pairs that are noted before they go to lists
  std::int64_t batch = 0;     // rows whose limits are found together, and whose lists are finished together
};

template <class T>
std::optional<JoinSizes> join_sizes(const HeldRows<T>& held, const SelfJoin& join) {
  const std::int64_t n = held.rows(), k = join.neighbors;
  if (n < 2 || join.measure != Measure::squared_euclidean || !multiplies_base(held, join.measure)) return std::nullopt;
  if (held.context->screen != ScreenPath::wgmma) return std::nullopt;  // whose blocks are few, and their logs
  const double wanted = 20 * std::sqrt(static_cast<double>(k) * static_cast<double>(n));
  const bool pays = held.columns() >= kLeastColumns && n * held.columns() >= kLeastValues &&
                    wanted <= static_cast<double>(n) * kMostOfRows;
  if (!pays && !held.context->small_joins) return std::nullopt;
  // Twice as many groups as bound a list well.
  const double least = std::max(wanted, static_cast<double>(4 * (k + 2) * kGroupColumns));
  JoinSizes sizes;
  sizes.stride = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) / least));
  const std::int64_t sample = (n + sizes.stride - 1) / sizes.stride;
  const auto expected = static_cast<std::uint64_t>(kRoomForExpected * (k + 1) * sizes.stride);
  sizes.capacity = std::max(candidates_of_list(k), static_cast<std::int64_t>(std::bit_ceil(expected)));
  // One slab may have most of the pairs: that of rows near all others. Every warp leaves a chunk unfinished.
  constexpr std::int64_t kWarps = kFp16Threads / kWarp, kMostPairs = (std::int64_t{1} << 32) - 2 * PairLog::kChunk;
  sizes.log = 3 * n * (k + 1) * sizes.stride / 2 + held.context->multiprocessors * kWarps * PairLog::kChunk;
  if (sizes.log >= kMostPairs || !can_find_lists(*held.context, sample, k, sizes.capacity)) return std::nullopt;
  const std::int64_t copy =
      row_groups_of(n) * kFp16Columns * (column_shape(held.columns()).depth_tiles * kRowChunks * 16 + 48);
  const std::int64_t left = held.pool().available() - n * (sizes.capacity * 4 + 16) - sizes.log * 8 - copy;
  const std::int64_t each = row_groups_of(sample) * kQuarters * 5 + held.columns() * 8 + k * 16;
  constexpr std::int64_t kMostBatch = 1 << 17;
  static_assert(kMostBatch % kQueryTile == 0, "batches are whole tiles of rows");
  sizes.batch = std::min(left / 2 / each / kQueryTile * kQueryTile, kMostBatch);
  if (sizes.batch <= 0) return std::nullopt;
  return sizes;
}

template <class T>
class Join {
 public:
  Join(const HeldRows<T>& held, const SelfJoin& join, JoinSizes sizes)
      : held_(held),
        join_(join),
        sizes_(sizes),
        base_(search_base(held, join.measure)),
        limit_(held.pool(), n()),
        count_(held.pool(), n()),
        row_(held.pool(), n() * sizes.capacity),
        log_(held.pool(), sizes.log),
        used_(held.pool(), 2),
        candidates_(held.pool(), 1) {}

  /// Nothing where pairs were more than expected.
  std::optional<NeighborLists> run() {
    find_row_limits();
    if (!list_pairs()) return std::nullopt;
    NeighborLists lists(n(), join_.neighbors);
    finish(lists);
    return lists;
  }

 private:
  std::int64_t n() const { return held_.rows(); }
  const Context& context() const { return *held_.context; }
  const uint4* tiles_from(std::int64_t row) const {
    return held_.fp16.values.data() + held_.fp16.shape.place(row, 0, 0);
  }

  /// Rows first .. first + count - 1 as queries.
  SearchQueries queries_of(std::int64_t first, std::int64_t count) const {
    return {.values = nullptr,
            .tiles = tiles_from(first),
            .shape = held_.fp16.shape,
            .norm = held_.fp16.norm.data() + first,
            .residual = held_.fp16.residual.data() + first,
            .minima = {},
            .count = count,
            .neighbors = join_.neighbors,
            .excluded = -1,
            .leaves_out = false};
  }

  /// work(first, count) on all batches of rows.
  template <class Work>
  void for_batches(const Work& work) const {
    for (std::int64_t first = 0; first < n(); first += sizes_.batch) work(first, std::min(sizes_.batch, n() - first));
  }

  /// From the smallest scores of groups of the sample. A row may be in it and is not its own neighbour: one more is
  /// asked for.
  void find_row_limits() const {
    const CopiedRows copied =
        copy_rows(held_, base_, {.stride = sizes_.stride, .count = (n() + sizes_.stride - 1) / sizes_.stride});
    const SearchBase<T> sample = copied.as_base(base_);
    GroupMinima minima{nullptr, nullptr, sample.tiles()};
    const std::int64_t batch = std::min(sizes_.batch, n());
    const Buffer<float> each(held_.pool(), batch * minima.groups());
    const Buffer<float> coarse(held_.pool(), batch * minima.coarse_groups());
    minima.each = each.data();
    minima.coarse = coarse.data();
    for_batches([&](std::int64_t first, std::int64_t count) {
      SearchQueries queries = queries_of(first, count);
      queries.minima = minima;
      if (!join_.include_self) ++queries.neighbors;
      launch_product<KeepMinima>(context(), search_problem(held_, sample, queries.tiles, count), minima);
      find_limits(context(), sample, queries, limit_.data() + first);
    });
  }

  RowLists lists() const { return {limit_.data(), row_.data(), count_.data(), static_cast<unsigned>(sizes_.capacity)}; }

  bool list_pairs() const {
    const Stream& stream = held_.stream();
    const OrderedRows ordered = order_by_reach(held_, base_, limit_.data());
    const PairLog log{log_.data(), used_.data(), static_cast<Word>(log_.size())};
    stream.fill(log_.data(), 0, log_.size());
    stream.fill(count_.data(), 0, n());
    const std::int64_t part = (n() / kSlabs + kQueryTile - 1) / kQueryTile * kQueryTile;
    const std::int64_t slab = context().small_joins ? kQueryTile : std::max(part, kLeastSlab);
    for (std::int64_t first = 0; first < n(); first += slab) {
      const std::int64_t count = std::min(slab, n() - first);
      const SearchBase<T> behind = ordered.rows.as_base(base_, first);
      Fp16Problem problem = search_problem(held_, behind, behind.tiles, count);
      problem.shape = column_shape(base_.d);
      problem.range_columns = kRun * kFp16Columns;
      stream.fill(used_.data(), 0, 2);
      launch_wgmma<NotePairs>(context(), problem,
                              {.log = log,
                               .limit = ordered.limit.data(),
                               .base = ordered.rows.score_base.data(),
                               .column_limit = ordered.column_limit.data(),
                               .group_reach = ordered.group_reach.data(),
                               .rows = n(),
                               .first_row = first,
                               .first_column = first,
                               .with_itself = join_.include_self});
      lists_kernel<<<context().grid(n(), kBlock), kBlock, 0, stream>>>(log, ordered.row.data(), lists());
      check(cudaGetLastError());
      overfull_kernel<<<context().grid(n(), kBlock), kBlock, 0, stream>>>(lists(), n(), used_.data() + 1);
      check(cudaGetLastError());
      Word used[2] = {};
      stream.download(used, used_.data(), 2);
      if (used[0] > log.capacity || static_cast<std::int64_t>(used[1]) * kFew > n()) return false;
      // Pairs with the rows before are done.
      if (join_.progress) join_.progress(rows_done(first + count));
    }
    return true;
  }

  /// As many as have as large a share of all rows as the pairs of the first `rows` with those behind them have of all
  /// pairs.
  std::int64_t rows_done(std::int64_t rows) const {
    const double left = 1 - static_cast<double>(rows) / static_cast<double>(n());
    return static_cast<std::int64_t>((1 - left * left) * static_cast<double>(n()));
  }

  void finish(NeighborLists& out) {
    const std::int64_t k = join_.neighbors, d = held_.columns(), batch = std::min(sizes_.batch, n());
    const Buffer<double> values(held_.pool(), batch * d), distance(held_.pool(), batch * k);
    const Buffer<std::int64_t> index(held_.pool(), batch * k);
    const Stream& stream = held_.stream();
    stream.fill(candidates_.data(), 0, 1);
    for_batches([&](std::int64_t first, std::int64_t count) {
      doubles_kernel<<<context().grid(count * d, kBlock), kBlock, 0, stream>>>(base_.values + first * d, count * d,
                                                                               values.data());
      check(cudaGetLastError());
      SearchQueries queries = queries_of(first, count);
      queries.values = values.data();
      RowLists listed = lists();
      listed.limit += first;
      listed.count += first;
      listed.row += first * sizes_.capacity;
      finish_lists(context(), base_, queries, listed, {distance.data(), index.data(), candidates_.data()});
      stream.download(out.distance.data() + first * k, distance.data(), count * k);
      stream.download(out.index.data() + first * k, index.data(), count * k);
    });
    Word candidates = 0;
    stream.download(&candidates, candidates_.data(), 1);
    out.candidates += static_cast<std::int64_t>(candidates);
  }

  const HeldRows<T>& held_;
  const SelfJoin& join_;
  JoinSizes sizes_;
  SearchBase<T> base_;
  Buffer<float> limit_;
  Buffer<unsigned> count_;
  Buffer<std::int32_t> row_;  // (n, capacity)
  Buffer<NotedPair> log_;
  Buffer<Word> used_;  // (2) of the log, and lists that are longer than their room
  Buffer<Word> candidates_;
};

/// Rows whose lists are unfilled are searched as queries, for one neighbour more where that may be the row itself.
/// False, with nothing done, where they are many.
template <class T>
bool search_left(const HeldRows<T>& held, const SelfJoin& join, NeighborLists& lists) {
  std::vector<std::int64_t> left;
  for (std::int64_t i = 0; i < lists.index.rows(); ++i) {
    if (lists.index(i, 0) < 0) left.push_back(i);
  }
  const std::int64_t k = join.neighbors, asked = join.include_self ? k : k + 1, d = held.columns();
  if (std::ssize(left) * kFew > held.rows()) return false;
  constexpr std::int64_t kTogetherBytes = std::int64_t{1} << 27;
  const std::int64_t together = std::max<std::int64_t>(kTogetherBytes / (d * 8 + asked * 16), 1);
  for (std::int64_t first = 0; first < std::ssize(left); first += together) {
    const auto rows = std::span(left).subspan(first, std::min(together, std::ssize(left) - first));
    Matrix<double> values(std::ssize(rows), d);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = held.values.row(rows[i]);
      std::copy(row.begin(), row.end(), values.row(static_cast<std::int64_t>(i)).begin());
    }
    NeighborLists found(std::ssize(rows), asked);
    search(held, {values.view(), -1, join.measure}, found);
    for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
      const std::int64_t own = join.include_self ? -1 : held.first_row + rows[i];
      std::int64_t place = 0;
      for (std::int64_t j = 0; j < asked && place < k; ++j) {
        if (found.index(i, j) == own) continue;
        lists.distance(rows[i], place) = found.distance(i, j);
        lists.index(rows[i], place++) = found.index(i, j);
      }
    }
    lists.candidates += found.candidates;
  }
  lists.fallback_queries += std::ssize(left);
  return true;
}

}  // namespace

template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join) {
  std::optional<NeighborLists> lists;
  try {
    if (const auto sizes = join_sizes(held, join)) lists = Join<T>(held, join, *sizes).run();
  } catch (const OutOfMemory&) {  // searches need less
    return std::nullopt;
  }
  if (lists && !search_left(held, join, *lists)) return std::nullopt;
  return lists;
}

#define KITH_INSTANTIATE(T) template std::optional<NeighborLists> self_join(const HeldRows<T>&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
