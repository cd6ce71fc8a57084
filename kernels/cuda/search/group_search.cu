// Searches groups of rows for batches of queries, which are uploaded once and stay on the device with their lists: each
// query in the group to which it would belong, and then in the others that its list may need (group_reach.h).
//
// The host waits for the numbers of queries of all groups and of dense ones among them, twice a batch, and for the
// lists. A query reads 4 d bytes for the distance to each center, and 8 d or 16 d for each group that it needs, besides
// the search in the group.
#include "kernels/cuda/search/group_search.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/fp16_rows.h"
#include "kernels/cuda/search/center_distances.h"
#include "kernels/cuda/search/centered_groups.h"
#include "kernels/cuda/search/rows_search.h"

namespace kith::cuda {
namespace {

/// What decides whether a query needs a group.
struct GroupTest {
  GroupReach reach;
  QueryReach queries;
  std::int32_t center = 0;
  bool is_far = false;    // the far rows of the center
  std::int64_t rows = 0;  // of the group
};

/// The queries of each group.
struct GroupQueries {
  std::int32_t* query = nullptr;  // (groups, capacity) from the front usual ones, from the end longer ones
  Word* counts = nullptr;         // (groups, 3) of both, and the bits of the largest D of longer ones; 0 before
  std::int64_t capacity = 0;

  /// Appends a query with this distance to the center, once a group. False if fp16 cannot hold it.
  __device__ bool append(std::int64_t g, const QueryReach& reach, std::int64_t q, double squared) const {
    std::int32_t* own = query + g * capacity;
    Word* count = counts + g * 3;
    if (squared <= reach.usual) {
      own[atomicAdd(&count[0], Word{1})] = static_cast<std::int32_t>(q);
    } else if (squared <= reach.most) {
      own[capacity - 1 - static_cast<std::int64_t>(atomicAdd(&count[1], Word{1}))] = static_cast<std::int32_t>(q);
      atomicMax(&count[2], bits_of(squared));
    } else {
      return false;
    }
    return true;
  }
};

/// A warp per query. own: the group to which it would belong, or another one if its nearest center has none.
__global__ void choose_own_kernel(const GroupTest* groups, int group_count, CenterDistances distances,
                                  std::int64_t count, std::int32_t* own, GroupQueries out) {
  for (std::int64_t q = warp_index(); q < count; q += warp_count()) {
    const double* squared = distances.squared + q * distances.centers;
    Word nearest = ~Word{0};  // bits of the distance, which order like it
    for (std::int64_t c = lane_index(); c < distances.centers; c += kWarp) nearest = min(nearest, bits_of(squared[c]));
    const double smallest = __longlong_as_double(static_cast<long long>(~warp_max(~nearest)));
    // The last group of the nearest center that may hold the query; of several centers at the same distance, any.
    int chosen = 0;
    for (int g = lane_index(); g < group_count; g += kWarp) {
      const GroupTest& group = groups[g];
      const bool holds = squared[group.center] == smallest && !(group.is_far && sqrt(smallest) < group.reach.hole);
      if (holds) chosen = g;
    }
    chosen = __reduce_max_sync(kAllLanes, chosen);
    if (lane_index() != 0) continue;
    own[q] = chosen;
    // One that is not appended stays without a list.
    out.append(chosen, groups[chosen].queries, q, squared[groups[chosen].center]);
  }
}

/// An upper bound of the distance of query q to its k-th nearest row, from the groups with so many: k rows within the
/// radius of a center. Infinite if there are none. All lanes of a warp call it.
__device__ double reach_of_groups(const GroupTest* groups, int group_count, const CenterDistances& distances,
                                  std::int64_t q, std::int64_t k) {
  constexpr double kUp = 1 + 0x1p-30;
  Word least = bits_of(std::numeric_limits<double>::infinity());
  for (int g = lane_index(); g < group_count; g += kWarp) {
    const GroupTest& group = groups[g];
    if (group.rows <= k) continue;  // one of them may be excluded
    const double farthest = (sqrt(distances.squared[q * distances.centers + group.center]) + group.reach.radius) * kUp;
    least = min(least, bits_of(farthest));  // a NaN is above infinity
  }
  return __longlong_as_double(static_cast<long long>(~warp_max(~least)));
}

/// The other groups that each query needs, a warp per query. Queries without a list are fallback queries; those that
/// are too long for a group become some.
__global__ void choose_others_kernel(const GroupTest* groups, int group_count, CenterDistances distances,
                                     std::int64_t count, const std::int32_t* own, DeviceLists lists, std::int64_t k,
                                     GroupQueries out) {
  for (std::int64_t q = warp_index(); q < count; q += warp_count()) {
    if (lists.index[q * k] < 0) continue;
    const std::int64_t last = q * k + k - 1;
    const double reach =
        lists.index[last] < 0 ? reach_of_groups(groups, group_count, distances, q, k) : sqrt(lists.distance[last]);
    bool holds = true;
    for (int g = lane_index(); g < group_count; g += kWarp) {
      const GroupTest& group = groups[g];
      const double squared = distances.squared[q * distances.centers + group.center];
      if (g == own[q] || group.reach.is_beyond(squared, reach)) continue;
      holds = out.append(g, group.queries, q, squared) && holds;
    }
    if (!__all_sync(kAllLanes, holds) && lane_index() == 0) lists.index[q * k] = -1;
  }
}

/// Queries of a batch: all, if they fit.
template <class T>
std::int64_t batch_queries(const HeldRows<T>& held, const Queries& request, std::int64_t k) {
  constexpr std::int64_t kSmallTile = 64;  // used if the caller limits the memory
  const CenteredGroups<T>& all = *held.cells.groups;
  const std::int64_t d = held.columns(), groups = std::ssize(all.groups);
  std::int64_t largest = 0;  // rows of a group
  for (const CenteredGroup<T>& group : all.groups) largest = std::max(largest, group.rows->rows());
  const std::int64_t query_bytes =
      batch_query_bytes(largest, k) + 2 * (d * 12 + fp16_row_bytes(d)) + k * 48 + all.center_count * 8 + groups * 4 + 8;
  const std::int64_t bytes = request.working_bytes > 0 ? request.working_bytes : kMaxMinimaBytes;
  const std::int64_t tile = request.working_bytes > 0 ? kSmallTile : kQueryTile;
  const std::int64_t fitting = std::min(bytes, held.pool().available() / 2) / query_bytes / tile * tile;
  return std::clamp(fitting, std::min(request.values.rows, tile), request.values.rows);
}

template <class T>
class GroupSearch {
 public:
  GroupSearch(const HeldRows<T>& held, const Queries& queries, std::int64_t k)
      : held_(held),
        all_(*held.cells.groups),
        queries_(queries),
        k_(k),
        size_(batch_queries(held, queries, k)),
        values_(held.pool(), size_ * held.columns()),
        floats_(held.pool(), std::is_same_v<T, double> ? 0 : size_ * held.columns()),
        squared_(held.pool(), size_ * all_.center_count),
        tests_(held.pool(), groups()),
        chosen_(held.pool(), groups() * size_),
        own_(held.pool(), size_),
        counts_(held.pool(), groups() * 3),
        candidates_(held.pool(), 1),
        lists_(held.pool(), size_ * k) {
    std::vector<GroupTest> tests;
    for (const CenteredGroup<T>& group : all_.groups) {
      tests.push_back({group.reach, query_reach(*group.rows, k), static_cast<std::int32_t>(group.center), group.is_far,
                       group.rows->rows()});
    }
    stream().upload(tests_.data(), tests.data(), groups());
    stream().fill(candidates_.data(), 0, 1);
  }

  /// Returns the fallback queries.
  std::vector<std::int64_t> run(NeighborLists& lists) {
    for (std::int64_t first = 0; first < queries_.values.rows; first += size_) {
      const std::int64_t count = std::min(size_, queries_.values.rows - first);
      search_batch(first, count);
      download(first, count, lists);
    }
    Word candidates = 0;
    stream().download(&candidates, candidates_.data(), 1);
    lists.candidates += static_cast<std::int64_t>(candidates);
    return std::move(fallback_);
  }

 private:
  const Context& context() const { return *held_.context; }
  const Stream& stream() const { return held_.stream(); }
  std::int64_t groups() const { return std::ssize(all_.groups); }
  GroupQueries group_queries() const { return {chosen_.data(), counts_.data(), size_}; }

  void search_batch(std::int64_t first, std::int64_t count) const {
    const CenterDistances distances{squared_.data(), all_.center_count};
    const int group_count = static_cast<int>(groups());
    upload(queries_.values.data + first * held_.columns(), count * held_.columns());
    measure_centers(context(), values_.data(), count, held_.columns(), all_.centers.data(), distances);
    clear_lists(context(), lists_.lists(), count * k_);
    stream().fill(counts_.data(), 0, counts_.size());
    choose_own_kernel<<<context().grid(count, kBlockWarps), kBlock, 0, stream()>>>(
        tests_.data(), group_count, distances, count, own_.data(), group_queries());
    check(cudaGetLastError());
    search_chosen_queries(first, true);
    stream().fill(counts_.data(), 0, counts_.size());
    choose_others_kernel<<<context().grid(count, kBlockWarps), kBlock, 0, stream()>>>(
        tests_.data(), group_count, distances, count, own_.data(), lists_.lists(), k_, group_queries());
    check(cudaGetLastError());
    search_chosen_queries(first, false);
  }

  void upload(const double* values, std::int64_t size) const {
    if (floats_.size() > 0 && stream().upload_as_floats(floats_.data(), values, size)) {
      to_double_kernel<<<context().grid(size, kBlock), kBlock, 0, stream()>>>(floats_.data(), size, values_.data());
      check(cudaGetLastError());
    } else {
      stream().upload(values_.data(), values, size);
    }
  }

  /// Searches each group for its queries. first: the number of the batch's first query. are_new: they have no lists.
  void search_chosen_queries(std::int64_t first, bool are_new) const {
    std::vector<Word> counts(static_cast<std::size_t>(counts_.size()));
    stream().download(counts.data(), counts_.data(), counts_.size());
    ChosenQueries<double> queries{.values = values_.data(),
                                  .batch = size_,
                                  .excluded = queries_.excluded_row + first - held_.first_row,
                                  .has_excluded = queries_.excluded_row >= 0,
                                  .are_new = are_new};
    const QueryLists out{lists_.lists(), k_, candidates_.data()};
    GroupRows numbers{all_.position.data(), held_.first_row};
    for (std::int64_t g = 0; g < groups(); ++g) {
      const HeldRows<T>& rows = *all_.groups[static_cast<std::size_t>(g)].rows;
      const Word* count = counts.data() + g * 3;
      const auto usual = static_cast<std::int64_t>(count[0]), longer = static_cast<std::int64_t>(count[1]);
      queries.chosen = chosen_.data() + g * size_;
      queries.count = usual;
      queries.max_query_norm = 0.0;
      search_chosen(rows, numbers, queries, out);
      queries.chosen += size_ - longer;
      queries.count = longer;
      queries.max_query_norm = longest_norm(rows, count[2]);
      search_chosen(rows, numbers, queries, out);
      numbers.position += rows.rows();
    }
  }

  /// Waits for the lists.
  void download(std::int64_t first, std::int64_t count, NeighborLists& lists) {
    stream().download(lists.distance.data() + first * k_, lists_.distance.data(), count * k_);
    stream().download(lists.index.data() + first * k_, lists_.index.data(), count * k_);
    for (std::int64_t q = first; q < first + count; ++q) {
      if (lists.index(q, 0) >= 0) continue;
      fallback_.push_back(q);
      std::fill_n(lists.distance.row(q).data(), k_, std::numeric_limits<double>::infinity());
      std::fill_n(lists.index.row(q).data(), k_, -1);
    }
  }

  const HeldRows<T>& held_;
  const CenteredGroups<T>& all_;
  const Queries& queries_;
  std::int64_t k_, size_;  // length of lists, queries of a batch
  Buffer<double> values_;  // (queries, d)
  Buffer<float> floats_;   // the upload of values that are all float32
  Buffer<double> squared_;
  Buffer<GroupTest> tests_;
  Buffer<std::int32_t> chosen_, own_;
  Buffer<Word> counts_;
  Buffer<Word> candidates_;
  ListBuffers lists_;
  std::vector<std::int64_t> fallback_;
};

}  // namespace

template <class T>
std::vector<std::int64_t> search_groups(const HeldRows<T>& held, const Queries& queries, NeighborLists& lists) {
  return GroupSearch<T>(held, queries, lists.index.columns()).run(lists);
}

#define KITH_INSTANTIATE(T) \
  template std::vector<std::int64_t> search_groups(const HeldRows<T>&, const Queries&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
