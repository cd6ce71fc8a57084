// The float32 search: scores of a batch of queries against a slice of the rows, a limit for the scores of each query's
// k nearest rows, distances by the definition for the rows within the limit, and a merge into the lists.
//
// The lists are complete: at least k rows have scores up to the bound, so the k nearest have true scores up to bound +
// E and screened scores up to bound + 2 E. If k is the number of rows, the limit is infinite and every row is a
// candidate. The search takes 2 q n d float32 operations (device/tile.h states the limit), writes 4 bytes per score,
// and reads the values of the candidates, a little more than k rows per query.
#include "kernels/cuda/search/float32_scores.h"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/search/sort.h"

namespace kith::cuda {
namespace {

/// All device memory of a search.
struct SearchWorkspace : ScoreWorkspace {
  template <class T>
  SearchWorkspace(const HeldRows<T>& held, const ScoreSizes& sizes, std::int64_t neighbors)
      : ScoreWorkspace(held, sizes),
        bound(held.pool(), sizes.queries),
        sorted_row(held.pool(), sizes.candidates),
        sorted_distance(held.pool(), sizes.candidates) {
    for (int i = 0; i < 2; ++i) {
      list_distance[i] = Buffer<double>(held.pool(), sizes.queries * neighbors);
      list_index[i] = Buffer<std::int64_t>(held.pool(), sizes.queries * neighbors);
    }
    sort(nullptr, sizes.candidates, 0, sizes.queries, held.stream());
    temporary = Buffer<std::byte>(held.pool(), static_cast<std::int64_t>(temporary_bytes));
  }

  DeviceLists lists(int which) const { return {list_distance[which].data(), list_index[which].data()}; }
  /// Sorts the candidates of queries first .. first + sorted_queries - 1; with memory == nullptr it sets
  /// temporary_bytes.
  void sort(std::byte* memory, std::int64_t count, std::int64_t first, std::int64_t sorted_queries,
            const Stream& stream) {
    sort_candidates(stream,
                    {distance.data(), sorted_distance.data(), row.data(), sorted_row.data(), offset.data() + first,
                     count, sorted_queries},
                    memory, temporary_bytes);
  }

  Buffer<float> bound;
  Buffer<std::int32_t> sorted_row;
  Buffer<double> sorted_distance;
  Buffer<double> list_distance[2];
  Buffer<std::int64_t> list_index[2];
  std::size_t temporary_bytes = 0;
  Buffer<std::byte> temporary;
};

/// A batch of queries on the device, which searches one slice of the rows after another.
template <class T>
class Batch {
 public:
  Batch(const HeldRows<T>& held, SearchWorkspace& workspace, std::int64_t queries, std::int64_t neighbors,
        Measure measure)
      : held_(held),
        workspace_(workspace),
        queries_(queries),
        neighbors_(neighbors),
        measure_(measure),
        margin_(score_margin(held, measure)) {}

  void begin(const double* queries, const double* distance, const std::int64_t* index) {
    const Stream& stream = held_.stream();
    stream.upload(workspace_.queries.data(), queries, queries_ * held_.columns());
    stream.upload(workspace_.list_distance[current_].data(), distance, queries_ * neighbors_);
    stream.upload(workspace_.list_index[current_].data(), index, queries_ * neighbors_);
    screen_queries(held_, batch(), workspace_.screened);
  }

  /// Merges the nearest rows of a slice into the lists. values: (rows, d) on the device, the held rows from position
  /// `first`. If has_excluded, query i excludes the row at position excluded + i.
  void search(const T* values, std::int64_t first, std::int64_t rows, std::int64_t excluded, bool has_excluded) {
    const Stream& stream = held_.stream();
    ScoreBlock block = workspace_.block(rows, queries_, excluded - first, has_excluded);
    const bool has_limit = is_of_bits(measure_);
    if (has_limit) {
      limit_by_lists(*held_.context, workspace_.lists(current_), neighbors_, measure_, held_.columns(), queries_,
                     held_.first_row + first, workspace_.limit.data());
      if (takes_group_minima(neighbors_ + 1, rows)) block.stored_limit = workspace_.limit.data();
    }
    score_rows(held_, batch(), values, first, block);
    find_limits(stream, block,
                {neighbors_, margin_, workspace_.screened.norm.data(), workspace_.bound.data(), workspace_.limit.data(),
                 first_slice_, has_limit});
    first_slice_ = false;
    const std::vector<std::int64_t> counts = workspace_.candidate_counts(stream, block);
    candidates_ = std::accumulate(counts.begin(), counts.end(), candidates_);
    workspace_.for_fitting(stream, counts, [&](const QueryRange& range, const std::vector<std::int64_t>& offsets) {
      merge_candidates(values, first, block, range, offsets.back());
    });
    current_ = 1 - current_;
  }

  void end(double* distance, std::int64_t* index) const {
    held_.stream().download(distance, workspace_.list_distance[current_].data(), queries_ * neighbors_);
    held_.stream().download(index, workspace_.list_index[current_].data(), queries_ * neighbors_);
  }
  /// Distances computed by the definition so far.
  std::int64_t candidates() const { return candidates_; }

 private:
  QueryBatch batch() const { return {workspace_.queries.data(), queries_, measure_, &workspace_.screened}; }

  void merge_candidates(const T* values, std::int64_t first_row, const ScoreBlock& block, const QueryRange& range,
                        std::int64_t count) {
    const Stream& stream = held_.stream();
    if (count > 0) {
      workspace_.measure_candidates(held_, batch(), values, block, range, count);
      workspace_.sort(workspace_.temporary.data(), count, range.first, range.count, stream);
    }
    merge_lists(stream, workspace_.lists(current_), workspace_.lists(1 - current_), neighbors_,
                {workspace_.sorted_distance.data(), workspace_.sorted_row.data(), workspace_.offset.data(),
                 held_.first_row + first_row},
                range.first, range.count);
  }

  const HeldRows<T>& held_;
  SearchWorkspace& workspace_;
  std::int64_t queries_, neighbors_;
  Measure measure_;
  ScreenMargin margin_;
  int current_ = 0;  // which of the two copies of the lists is current
  bool first_slice_ = true;
  std::int64_t candidates_ = 0;
};

/// Rows whose group minima give a limit (takes_group_minima), and so many that it leaves few of a million others.
std::int64_t least_limiting_rows(std::int64_t neighbors) {
  constexpr std::int64_t kLeast = 1 << 16;
  static_assert(4 * kBlockColumns % kTileColumns == 0, "slices begin at whole tiles");
  return std::max(kLeast, (neighbors + 1) * 4 * kBlockColumns);
}

}  // namespace

template <class T>
void search_float32(const HeldRows<T>& held, const Queries& queries, const std::vector<QueryRange>& ranges,
                    NeighborLists& lists) {
  const std::int64_t k = lists.distance.columns(), d = held.columns();
  const ScoreSizes sizes =
      score_sizes(held.largest_block(), longest(ranges), queries.measure, held.pool().available(), k * 32 + d * 12, 32);
  SearchWorkspace workspace(held, sizes, k);

  const auto search_range = [&](const Block<T>& rows, const T* values, const QueryRange& range) {
    for (std::int64_t done = 0; done < range.count; done += sizes.queries) {
      const std::int64_t first_query = range.first + done;
      Batch<T> batch(held, workspace, std::min(sizes.queries, range.count - done), k, queries.measure);
      double* distance = lists.distance.data() + first_query * k;
      std::int64_t* index = lists.index.data() + first_query * k;
      batch.begin(queries.values.data + first_query * d, distance, index);
      // Of bits, all scores of a first slice are written, and few of the others.
      const bool begins = is_of_bits(queries.measure) && lists.index(first_query, 0) < 0;
      const std::int64_t first_slice = begins ? std::min(sizes.rows, least_limiting_rows(k)) : sizes.rows;
      for (std::int64_t slice = 0; slice < rows.rows; slice += slice == 0 ? first_slice : sizes.rows) {
        const std::int64_t count = slice == 0 ? first_slice : sizes.rows;
        batch.search(values + slice * d, rows.first + slice, std::min(count, rows.rows - slice),
                     queries.excluded_row + first_query - held.first_row, queries.excluded_row >= 0);
      }
      batch.end(distance, index);
      lists.candidates += batch.candidates();
    }
  };
  held.for_blocks([&](const Block<T>& rows) {
    const T* values = held.on_device(rows);
    for (const QueryRange& range : ranges) search_range(rows, values, range);
  });
}

#define KITH_INSTANTIATE(T) \
  template void search_float32(const HeldRows<T>&, const Queries&, const std::vector<QueryRange>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
