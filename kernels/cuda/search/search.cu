// Neighbour search: on the tensor cores where it can be (fp16_search.h), else, and for queries that this leaves, a
// float32 screen of a batch of queries against a piece of the rows, per query a limit that the k nearest cannot exceed,
// distances by the definition for the rows below it, and a merge into the lists.
//
// Complete by construction: at least k rows have scores up to the bound, so the k nearest have true scores up to bound
// + E and screened scores up to bound + 2 E. Every k is served by the same path; when k is the number of rows the limit
// is infinite and every row is a candidate. Cost: 2 q n d float32 operations (device/tile.h states the floor), 4 bytes
// written per score, and the rows of the candidates, a little over k per query, gathered once.
#include <algorithm>
#include <cub/device/device_segmented_sort.cuh>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cuda/search/fp16_search.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/search/query_ranges.h"
#include "kernels/cuda/search/query_scores.h"
#include "kernels/cuda/search/search_lists.h"

namespace kith::cuda {
namespace {

/// All device memory of a search, taken at once.
template <class T>
struct SearchWorkspace {
  SearchWorkspace(const HeldRows<T>& held, const ScoreSizes& sizes, std::int64_t neighbors)
      : pitch(sizes.pitch),
        queries(held.pool(), sizes.queries * held.columns()),
        screened(allocate_screened(held, sizes.queries)),
        scores(held.pool(), sizes.queries * pitch),
        smallest(held.pool(), sizes.queries * (pitch / kGroupColumns)),
        bound(held.pool(), sizes.queries),
        limit(held.pool(), sizes.queries),
        counts(held.pool(), sizes.queries),
        offset(held.pool(), sizes.queries + 1),
        row(held.pool(), sizes.candidates),
        sorted_row(held.pool(), sizes.candidates),
        query(held.pool(), sizes.candidates),
        distance(held.pool(), sizes.candidates),
        sorted_distance(held.pool(), sizes.candidates) {
    for (int i = 0; i < 2; ++i) {
      list_distance[i] = Buffer<double>(held.pool(), sizes.queries * neighbors);
      list_index[i] = Buffer<std::int64_t>(held.pool(), sizes.queries * neighbors);
    }
    sort(nullptr, sizes.candidates, 0, sizes.queries, held.stream());
    temporary = Buffer<std::byte>(held.pool(), static_cast<std::int64_t>(temporary_bytes));
  }

  DeviceLists lists(int which) const { return {list_distance[which].data(), list_index[which].data()}; }
  /// Stable, so that equal distances keep their ascending rows.
  void sort(std::byte* room, std::int64_t count, std::int64_t first, std::int64_t queries_sorted,
            const Stream& stream) {
    check(cub::DeviceSegmentedSort::StableSortPairs(room, temporary_bytes, distance.data(), sorted_distance.data(),
                                                    row.data(), sorted_row.data(), count, queries_sorted,
                                                    offset.data() + first, offset.data() + first + 1, stream));
  }

  std::int64_t pitch;
  Buffer<double> queries;
  ScreenedCopies screened;
  Buffer<float> scores, smallest, bound, limit;
  Buffer<std::int64_t> counts, offset;
  Buffer<std::int32_t> row, sorted_row, query;
  Buffer<double> distance, sorted_distance;
  Buffer<double> list_distance[2];
  Buffer<std::int64_t> list_index[2];
  std::size_t temporary_bytes = 0;
  Buffer<std::byte> temporary;
};

/// A batch of queries on the device, against one piece of rows after the other.
template <class T>
class Batch {
 public:
  Batch(const HeldRows<T>& held, SearchWorkspace<T>& room, std::int64_t queries, std::int64_t neighbors,
        Measure measure)
      : held_(held),
        workspace_(room),
        queries_(queries),
        neighbors_(neighbors),
        measure_(measure),
        margin_(score_margin(held, measure)) {}

  void begin(const double* queries, const double* distance, const std::int64_t* index) {
    const Stream& stream = held_.stream();
    stream.upload(workspace_.queries.data(), queries, queries_ * held_.columns());
    stream.upload(workspace_.list_distance[now_].data(), distance, queries_ * neighbors_);
    stream.upload(workspace_.list_index[now_].data(), index, queries_ * neighbors_);
    screen_queries(held_, batch(), workspace_.screened);
  }

  /// values: (rows, d) on the device, of which row 0 is at position `first` of the held rows. excluded: position that
  /// query 0 leaves out, if leaves_out.
  void search(const T* values, std::int64_t first, std::int64_t rows, std::int64_t excluded, bool leaves_out) {
    const Stream& stream = held_.stream();
    const ScoreBlock block{workspace_.scores.data(),
                           workspace_.smallest.data(),
                           workspace_.pitch,
                           rows,
                           queries_,
                           excluded - first,
                           leaves_out};
    score_rows(held_, batch(), values, first, block);
    find_limits(stream, block,
                {neighbors_, margin_, workspace_.screened.norm.data(), workspace_.bound.data(), workspace_.limit.data(),
                 first_piece_});
    first_piece_ = false;
    count_candidates(stream, block, workspace_.limit.data(), workspace_.counts.data());
    std::vector<std::int64_t> counts(queries_);
    stream.download(counts.data(), workspace_.counts.data(), queries_);
    candidates_ = std::accumulate(counts.begin(), counts.end(), candidates_);

    // As many queries at a time as their candidates fit; one always does.
    for (std::int64_t q = 0; q < queries_;) {
      std::vector<std::int64_t> offset{0};
      std::int64_t last = q;
      while (last < queries_ && (last == q || offset.back() + counts[last] <= workspace_.row.size())) {
        offset.push_back(offset.back() + counts[last++]);
      }
      stream.upload(workspace_.offset.data() + q, offset.data(), last - q + 1);
      merge_candidates(values, first, block, q, last - q, offset.back());
      q = last;
    }
    now_ = 1 - now_;
  }

  void end(double* distance, std::int64_t* index) const {
    held_.stream().download(distance, workspace_.list_distance[now_].data(), queries_ * neighbors_);
    held_.stream().download(index, workspace_.list_index[now_].data(), queries_ * neighbors_);
  }
  /// Distances computed by the definition so far.
  std::int64_t candidates() const { return candidates_; }

 private:
  QueryBatch batch() const { return {workspace_.queries.data(), queries_, measure_, &workspace_.screened}; }

  void merge_candidates(const T* values, std::int64_t first_row, const ScoreBlock& block, std::int64_t first_query,
                        std::int64_t queries, std::int64_t count) {
    const Stream& stream = held_.stream();
    if (count > 0) {
      list_candidates(stream, block, workspace_.limit.data(), first_query, queries,
                      {workspace_.row.data(), workspace_.query.data(), workspace_.offset.data()});
      measure_pairs(held_, batch(), values, {workspace_.row.data(), workspace_.query.data(), count},
                    workspace_.distance.data());
      workspace_.sort(workspace_.temporary.data(), count, first_query, queries, stream);
    }
    merge_lists(stream, workspace_.lists(now_), workspace_.lists(1 - now_), neighbors_,
                {workspace_.sorted_distance.data(), workspace_.sorted_row.data(), workspace_.offset.data(),
                 held_.first_row + first_row},
                first_query, queries);
  }

  const HeldRows<T>& held_;
  SearchWorkspace<T>& workspace_;
  std::int64_t queries_, neighbors_;
  Measure measure_;
  ScreenMargin margin_;
  int now_ = 0;  // which of the two copies of the lists holds what was found so far
  bool first_piece_ = true;
  std::int64_t candidates_ = 0;
};

/// Merges the nearest rows into the lists of some queries, by the float32 screen. Changes nothing before it has taken
/// all memory.
template <class T>
void search_floats(const HeldRows<T>& held, const Queries& queries, const std::vector<QueryRange>& runs,
                   NeighborLists& lists) {
  const std::int64_t k = lists.distance.columns(), d = held.columns();
  const ScoreSizes sizes =
      score_sizes(held.largest_block(), longest(runs), held.pool().available(), k * 32 + d * 12, 32);
  SearchWorkspace<T> room(held, sizes, k);

  const auto search_run = [&](const Block<T>& rows, const T* values, const QueryRange& run) {
    for (std::int64_t done = 0; done < run.count; done += sizes.queries) {
      const std::int64_t first_query = run.first + done;
      Batch<T> batch(held, room, std::min(sizes.queries, run.count - done), k, queries.measure);
      double* distance = lists.distance.data() + first_query * k;
      std::int64_t* index = lists.index.data() + first_query * k;
      batch.begin(queries.values.data + first_query * d, distance, index);
      for (std::int64_t piece = 0; piece < rows.rows; piece += sizes.rows) {
        batch.search(values + piece * d, rows.first + piece, std::min(sizes.rows, rows.rows - piece),
                     queries.excluded_row + first_query - held.first_row, queries.excluded_row >= 0);
      }
      batch.end(distance, index);
      lists.candidates += batch.candidates();
    }
  };
  held.for_blocks([&](const Block<T>& rows) {
    const T* values = held.on_device(rows);
    for (const QueryRange& run : runs) search_run(rows, values, run);
  });
}

bool unfilled(const NeighborLists& lists) {
  for (std::int64_t i = 0; i < lists.index.rows(); ++i) {
    if (lists.index(i, 0) >= 0) return false;
  }
  return true;
}

}  // namespace

template <class T>
void search(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  const std::int64_t q = queries.values.rows, k = lists.distance.columns();
  if (q == 0 || k == 0) return;
  if (!unfilled(lists) || !searches_fp16(held, queries.measure, k)) {
    return search_floats(held, queries, {{0, q}}, lists);
  }
  std::vector<std::int64_t> left;
  try {
    left = search_fp16(held, queries, lists);
  } catch (const OutOfMemory&) {  // which is thrown before a list is filled; float32 needs less
    return search_floats(held, queries, {{0, q}}, lists);
  }
  lists.fallback_queries += static_cast<std::int64_t>(left.size());
  if (left.empty()) return;
  try {
    search_floats(held, queries, runs_of(left), lists);
  } catch (const OutOfMemory&) {  // it will be tried again, from the start
    lists = NeighborLists(q, k);
    throw;
  }
}

#define KITH_INSTANTIATE(T) template void search(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
