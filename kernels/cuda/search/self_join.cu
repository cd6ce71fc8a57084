// The symmetric join: the nearest rows of every row, with one product per pair of rows. A sample of the rows gives a
// limit for each row's scores. The upper half of the product of all rows with themselves then gives the pairs within
// these limits, since a score serves both rows of a pair (LogPairs). Lists follow by the definition
// (fp16_lists.h).
//
// The join takes n^2 d operations, where searches take 2 n^2 d; 2 n s d operations for a sample of s rows; and k n / s
// rows of d values per row for the distances. The larger the sample, the fewer rows are within the limits. With few
// columns or few rows the join is slower than searches: handling the pairs takes as long as the products that it saves
// (choice/search.h).
//
// One score of a pair of rows decides for both rows whether the other one is within their limit. Let u = base(b) -
// product be the score of row b for row q. q accepts b if u <= limit(q). b accepts q if base(q) - product <= limit(b),
// that is, u <= threshold(b) - base(q) with threshold(b) = limit(b) + base(b). So the smallest u of a thread's 32
// columns, compared with max(limit(q), largest threshold of these columns - base(q)), decides whether any pair is
// accepted: 1.5 instructions per score, and seven more if one is. Each warp appends its pairs to its own segment of a
// log, so that products do not wait for an atomic addition per pair.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "kernels/cuda/choice/search.h"
#include "kernels/cuda/search/fp16_lists.h"
#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/join_operands.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/search_epilogues.h"

namespace kith::cuda {
namespace {

/// A pair of rows, first <= second. A row with the flag kAccepts has the other row within its limit.
struct JoinPair {
  static constexpr unsigned kAccepts = 0x80000000U;
  unsigned first, second;
};

/// The pairs found by the warps of a product. Each warp reserves a segment of the log, and a new one when it is full.
struct PairLog {
  static constexpr unsigned kSegment = 2048;
  static_assert(kSegment >= kWarp * kGroupColumns, "a segment holds what a warp appends at a time");

  JoinPair* pairs = nullptr;  // (capacity) zero where there is no pair
  Word* used = nullptr;       // (1) reserved entries, including those beyond the capacity
  Word capacity = 0;          // below 2^32 - kSegment
};

/// A product of some rows of a join with some of its rows as columns.
struct JoinProduct {
  PairLog log;
  const float* limit = nullptr;            // (rows) of scores; negative: the row accepts none
  const float* base = nullptr;             // (rows, padded) score bases in the order of base_place_of_row
  const float* column_limit = nullptr;     // (rows, padded) limits in that order, negative in the padding
  const float* group_threshold = nullptr;  // (tiles, kQuarters) the largest threshold of a group, rounded up
  std::int64_t rows = 0;                   // number of rows of the join
  std::int64_t first_row = 0;              // first row of the product, a multiple of kFp16Columns
  std::int64_t first_column = 0;           // its first column, a multiple of kFp16Columns
  bool include_self = false;               // a row may be in its own list
};

/// Logs the pairs of which at least one row accepts the other.
class LogPairs {
 public:
  static constexpr bool kAnyColumns = true;
  [[maybe_unused]] static constexpr bool kColumnRanges = true;

  using Arguments = JoinProduct;

  __device__ LogPairs(const Arguments& join, std::int64_t) : join_(join) {}

  __device__ void begin(std::int64_t row) {
    row_ = static_cast<int>(join_.first_row + row);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t q = row_at(row_, r);
      const bool exists = q < join_.rows;
      limit_[r] = exists ? join_.limit[q] : -1.0F;
      base_[r] = exists ? join_.base[base_place_of_row(q)] : QuantizationGrid::kNever;  // no column accepts it
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    if (kHalf == 0) prefetch_.fetch(score_base);
    const float threshold = __ldg(join_.group_threshold + (first_tile() + tile) * kQuarters + quarter());
    int smallest[2];
    smallest_scores(product, score_base, smallest);
    bool any = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float largest = fmaxf(limit_[2 * kHalf + r], __fsub_rn(threshold, base_[2 * kHalf + r]));
      any = any || !(__int_as_float(smallest[r]) > largest);
    }
    if (__any_sync(kAllLanes, any)) find_pairs<kHalf>(product, score_base, tile);
  }

  __device__ void finish(std::int64_t) const {}

 private:
  __device__ std::int64_t first_tile() const { return join_.first_column / kFp16Columns; }

  /// Logs the pairs of two rows with this thread's columns. Called by all lanes.
  template <int kHalf>
  __device__ void find_pairs(const float (&product)[64], const float* score_base, unsigned tile) {
    const float* column_limit = base_of_lane(join_.column_limit + join_.first_column, tile, lane_index());
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t q = row_at(row_, 2 * kHalf + r);
      const float limit = limit_[2 * kHalf + r], row_base = base_[2 * kHalf + r];
      unsigned accepted = 0, accepting = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        add_within(accepted, limit, reload(score_base, i), product, i, r);
        add_accepting(accepting, row_base, reload(column_limit, i), product, i, r);
      }
      const unsigned allowed = q < join_.rows ? columns_from(q, tile) : 0;
      append(limit >= 0 ? accepted & allowed : 0, accepting & allowed, static_cast<unsigned>(q), tile);
    }
  }

  /// Like base_of, for values that were read before. This path is rare, and keeping the values would take registers.
  __device__ static float4 reload(const float* from, int i) {
    float4 four;
    asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "l"(from + 16 * i));
    return four;
  }

  /// Appends this lane's pairs of row q to the log: columns that q accepts, and columns that accept q. Called by all
  /// lanes.
  __device__ void append(unsigned accepted, unsigned accepting, unsigned q, unsigned tile) {
    unsigned either = accepted | accepting;
    const unsigned count = __popc(either);
    unsigned inclusive = count;
#pragma unroll
    for (int w = 1; w < kWarp; w *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, inclusive, w);
      if (lane_index() >= w) inclusive += lower;
    }
    const unsigned warp_count = __shfl_sync(kAllLanes, inclusive, kWarp - 1);
    if (warp_count > free_) {
      Word segment = 0;
      if (lane_index() == 0) segment = atomicAdd(join_.log.used, Word{PairLog::kSegment});
      next_ = static_cast<unsigned>(__shfl_sync(kAllLanes, min(segment, join_.log.capacity), 0));
      free_ = PairLog::kSegment;
    }
    unsigned i = next_ + (inclusive - count);
    next_ += warp_count;
    free_ -= warp_count;
    for (; either != 0 && i < join_.log.capacity; either &= either - 1, ++i) {
      const int number = __ffs(static_cast<int>(either)) - 1;
      const unsigned bit = 1U << number, b = static_cast<unsigned>(column(tile, number));
      join_.log.pairs[i] = {(accepted & bit) != 0 ? q | JoinPair::kAccepts : q,
                            (accepting & bit) != 0 ? b | JoinPair::kAccepts : b};
    }
  }

  /// Sets the bits of the columns 4 i .. 4 i + 3 that accept the row with this score base. limit: of the columns.
  __device__ static void add_accepting(unsigned& accepts, float base, const float4& limit, const float (&product)[64],
                                       int i, int r) {
    if (__fsub_rn(base, product_of<0>(product, i, r)) <= limit.x) accepts |= 1U << (4 * i);
    if (__fsub_rn(base, product_of<1>(product, i, r)) <= limit.y) accepts |= 2U << (4 * i);
    if (__fsub_rn(base, product_of<2>(product, i, r)) <= limit.z) accepts |= 4U << (4 * i);
    if (__fsub_rn(base, product_of<3>(product, i, r)) <= limit.w) accepts |= 8U << (4 * i);
  }

  __device__ std::int64_t column(unsigned tile, int number) const {
    return join_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns + column_of_number(number);
  }

  /// The bits of a thread's columns that come after row q, or are row q itself if include_self.
  __device__ unsigned columns_from(std::int64_t q, unsigned tile) const {
    const std::int64_t first = join_.first_column + static_cast<std::int64_t>(tile) * kFp16Columns;
    if (first > q) return ~0U;
    unsigned allowed = 0;
    for (int number = 0; number < kGroupColumns; ++number) {
      const std::int64_t b = column(tile, number);
      if (b > q || (b == q && join_.include_self)) allowed |= 1U << number;
    }
    return allowed;
  }

  const JoinProduct& join_;
  unsigned next_ = 0, free_ = 0;  // the next entry of this warp's segment, and its free entries
  int row_ = 0;
  float limit_[4] = {}, base_[4] = {};
  ScoreBasePrefetch prefetch_;
};

constexpr std::int64_t kRangeTiles = 32;     // tiles of a column range
constexpr std::int64_t kSlabs = 32;          // slabs of rows; each is multiplied with the rows from its first one on
constexpr std::int64_t kMinSlab = 2048;      // rows that keep the device busy
constexpr std::int64_t kCapacityFactor = 3;  // capacity of a list / expected number of its rows
constexpr std::int64_t kFallbackShare = 16;  // at most 1 / kFallbackShare of the lists may overflow
static_assert(kMinSlab % kQueryTile == 0, "slabs are whole tiles of rows");

/// Appends each row of a pair to the other row's list if that row accepts it, and clears the log. row: the positions of
/// the ordered rows that pairs refer to.
__global__ void append_pairs_kernel(const PairLog log, const std::int32_t* row, const RowLists lists) {
  const auto append = [&](unsigned accepting, unsigned other) {
    const std::int64_t list = row[accepting & ~JoinPair::kAccepts];
    const unsigned slot = atomicAdd(&lists.count[list], 1U);
    if (slot < lists.capacity) lists.row[lists.first(list) + slot] = row[other & ~JoinPair::kAccepts];
  };
  const auto used = static_cast<std::int64_t>(min(*log.used, log.capacity));
  for (std::int64_t i = thread_index(); i < used; i += thread_count()) {
    const JoinPair pair = log.pairs[i];
    log.pairs[i] = {};
    if ((pair.first & JoinPair::kAccepts) != 0) append(pair.first, pair.second);
    // A row that is its own neighbour must enter its list only once.
    const bool is_self = ((pair.first ^ pair.second) & ~JoinPair::kAccepts) == 0;
    if ((pair.second & JoinPair::kAccepts) != 0 && !is_self) append(pair.second, pair.first);
  }
}

/// Counts the lists that overflowed.
__global__ void count_overflows_kernel(const RowLists lists, std::int64_t rows, Word* overflows) {
  Word count = 0;
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) count += lists.count[i] > lists.capacity ? 1 : 0;
  if (count > 0) atomicAdd(overflows, count);
}

/// Sizes of the sample and of the buffers.
struct JoinSizes {
  std::int64_t stride = 1;    // of the sample
  std::int64_t capacity = 0;  // of a list
  std::int64_t log = 0;       // pairs in the log
  std::int64_t batch = 0;     // rows whose limits are computed together, and whose lists are finished together
};

/// Whether the rows can be joined. Only wgmma has so few warps that the log needs few segments.
template <class T>
bool can_join(const HeldRows<T>& held, const SelfJoin& join) {
  return held.rows() >= 2 && join.measure == Measure::squared_euclidean && has_fp16_scores(held, join.measure) &&
         held.context->screen == ScreenPath::wgmma;
}

/// Nothing if there is not enough memory, or the lists are too long.
template <class T>
std::optional<JoinSizes> join_sizes(const HeldRows<T>& held, const SelfJoin& join, std::int64_t best_sample) {
  const std::int64_t n = held.rows(), k = join.neighbors;
  // At least twice as many groups as can_find_lists() requires.
  const std::int64_t min_sample = std::max(best_sample, 4 * (k + 2) * kGroupColumns);
  JoinSizes sizes;
  sizes.stride = std::max<std::int64_t>(1, n / min_sample);
  const std::int64_t sample = (n + sizes.stride - 1) / sizes.stride;
  const auto expected = static_cast<std::uint64_t>(kCapacityFactor * (k + 1) * sizes.stride);
  sizes.capacity = std::max(candidate_capacity(k), static_cast<std::int64_t>(std::bit_ceil(expected)));
  // One slab may have most of the pairs, if its rows are near all others. Each warp leaves one segment partly filled.
  constexpr std::int64_t kWarps = kFp16Threads / kWarp, kMaxPairs = (std::int64_t{1} << 32) - 2 * PairLog::kSegment;
  sizes.log = 3 * n * (k + 1) * sizes.stride / 2 + held.context->multiprocessors * kWarps * PairLog::kSegment;
  if (sizes.log >= kMaxPairs || !can_find_lists(*held.context, sample, k, sizes.capacity)) return std::nullopt;
  const std::int64_t copy =
      row_groups_of(n) * kFp16Columns * (column_shape(held.columns()).depth_tiles * kRowChunks * 16 + 48);
  const std::int64_t spare = held.pool().available() - n * (sizes.capacity * 4 + 16) - sizes.log * 8 - copy;
  const std::int64_t row_bytes = row_groups_of(sample) * kQuarters * 5 + held.columns() * 8 + k * 16;
  constexpr std::int64_t kMaxBatch = 1 << 17;
  static_assert(kMaxBatch % kQueryTile == 0, "batches are whole tiles of rows");
  sizes.batch = std::min(spare / 2 / row_bytes / kQueryTile * kQueryTile, kMaxBatch);
  if (sizes.batch <= 0) return std::nullopt;
  return sizes;
}

template <class T>
class SymmetricJoin {
 public:
  SymmetricJoin(const HeldRows<T>& held, const SelfJoin& join, JoinSizes sizes)
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

  /// Returns nothing if there are more pairs than expected.
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
            .has_excluded = false};
  }

  /// work(first, count) on all batches of rows.
  template <class Work>
  void for_batches(const Work& work) const {
    for (std::int64_t first = 0; first < n(); first += sizes_.batch) work(first, std::min(sizes_.batch, n() - first));
  }

  /// Computes limits from the group minima of the sample. A row may be in the sample without being its own neighbour,
  /// so that the limits are those of one more neighbour.
  void find_row_limits() const {
    const CopiedRows copied =
        copy_rows(held_, base_, {.stride = sizes_.stride, .count = (n() + sizes_.stride - 1) / sizes_.stride});
    const SearchBase<T> sample = copied.as_base(base_);
    GroupMinima minima{nullptr, nullptr, sample.tile_count()};
    const std::int64_t batch = std::min(sizes_.batch, n());
    const Buffer<float> group_min(held_.pool(), batch * minima.groups());
    const Buffer<float> block_min(held_.pool(), batch * minima.blocks());
    minima.group_min = group_min.data();
    minima.block_min = block_min.data();
    for_batches([&](std::int64_t first, std::int64_t count) {
      SearchQueries queries = queries_of(first, count);
      queries.minima = minima;
      if (!join_.include_self) ++queries.neighbors;
      launch_product<KeepMinima>(context(), search_problem(held_, sample, queries.tiles, count), minima);
      find_limits(context(), sample, queries, limit_.data() + first);
    });
  }

  RowLists lists() const { return {limit_.data(), row_.data(), count_.data(), static_cast<unsigned>(sizes_.capacity)}; }

  /// Fills the lists of the rows within the limits. Returns false if there are more pairs than expected.
  bool list_pairs() const {
    const Stream& stream = held_.stream();
    const OrderedRows ordered = order_by_threshold(held_, base_, limit_.data());
    const PairLog log{log_.data(), used_.data(), static_cast<Word>(log_.size())};
    stream.fill(log_.data(), 0, log_.size());
    stream.fill(count_.data(), 0, n());
    const std::int64_t share = (n() / kSlabs + kQueryTile - 1) / kQueryTile * kQueryTile;
    const std::int64_t slab_rows = context().forced.self_join ? kQueryTile : std::max(share, kMinSlab);
    for (std::int64_t first = 0; first < n(); first += slab_rows) {
      const std::int64_t count = std::min(slab_rows, n() - first);
      const SearchBase<T> columns = ordered.rows.as_base(base_, first);
      Fp16Problem problem = search_problem(held_, columns, columns.tiles, count);
      problem.shape = column_shape(base_.d);
      problem.range_columns = kRangeTiles * kFp16Columns;
      stream.fill(used_.data(), 0, 2);
      launch_wgmma<LogPairs>(context(), problem,
                             {.log = log,
                              .limit = ordered.limit.data(),
                              .base = ordered.rows.score_base.data(),
                              .column_limit = ordered.column_limit.data(),
                              .group_threshold = ordered.group_threshold.data(),
                              .rows = n(),
                              .first_row = first,
                              .first_column = first,
                              .include_self = join_.include_self});
      append_pairs_kernel<<<context().grid(n(), kBlock), kBlock, 0, stream>>>(log, ordered.row.data(), lists());
      check(cudaGetLastError());
      count_overflows_kernel<<<context().grid(n(), kBlock), kBlock, 0, stream>>>(lists(), n(), used_.data() + 1);
      check(cudaGetLastError());
      Word used[2] = {};
      stream.download(used, used_.data(), 2);
      if (used[0] > log.capacity || static_cast<std::int64_t>(used[1]) * kFallbackShare > n()) return false;
      if (join_.progress) join_.progress(completed_rows(first + count));
    }
    return true;
  }

  /// Progress in rows after slabs that end at `rows`: n times the share of all pairs that have been multiplied.
  std::int64_t completed_rows(std::int64_t rows) const {
    const double remaining = 1 - static_cast<double>(rows) / static_cast<double>(n());
    return static_cast<std::int64_t>((1 - remaining * remaining) * static_cast<double>(n()));
  }

  /// Computes the distances of the listed rows, and the final lists.
  void finish(NeighborLists& out) {
    const std::int64_t k = join_.neighbors, d = held_.columns(), batch = std::min(sizes_.batch, n());
    const Buffer<double> values(held_.pool(), batch * d), distance(held_.pool(), batch * k);
    const Buffer<std::int64_t> index(held_.pool(), batch * k);
    const Stream& stream = held_.stream();
    stream.fill(candidates_.data(), 0, 1);
    for_batches([&](std::int64_t first, std::int64_t count) {
      to_double_kernel<<<context().grid(count * d, kBlock), kBlock, 0, stream>>>(base_.values + first * d, count * d,
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
  Buffer<JoinPair> log_;
  Buffer<Word> used_;  // (2) entries of the log, and number of overflowed lists
  Buffer<Word> candidates_;
};

}  // namespace

template <class T>
std::optional<NeighborLists> self_join(const HeldRows<T>& held, const SelfJoin& join) {
  const Context& context = *held.context;
  const SearchSize size{.rows = held.rows(),
                        .columns = held.columns(),
                        .queries = held.rows(),
                        .neighbors = join.neighbors,
                        .has_fp16 = true};
  std::optional<NeighborLists> lists;
  try {
    if (can_join(held, join)) {
      SearchChoice choice =
          context.forced.self_join ? forced_method(SearchMethod::symmetric_join) : choose_join(context.machine, size);
      const auto sizes = choice.method == SearchMethod::symmetric_join
                             ? join_sizes(held, join, join_sample_rows(context.machine, size))
                             : std::nullopt;
      if (sizes) {
        context.decisions.add(std::move(choice.decision));
        lists = SymmetricJoin<T>(held, join, *sizes).run();
      }
    }
    if (!lists && !context.forced.self_join) {
      NeighborLists all = NeighborLists::uninitialized(held.rows(), join.neighbors);
      const auto candidates = join_rows(held, join, {0, held.rows()}, ListsView(all));
      if (!candidates) return std::nullopt;
      all.candidates += *candidates;
      lists = std::move(all);
    }
  } catch (const OutOfMemory&) {  // searches need less memory
    return std::nullopt;
  }
  return lists;
}

#define KITH_INSTANTIATE(T) template std::optional<NeighborLists> self_join(const HeldRows<T>&, const SelfJoin&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
