// Searches groups of rows, one after another, for the queries to which a group may matter (group_reach.h).
#include "kernels/cuda/search/group_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/gathered_queries.h"

namespace kith::cuda {
namespace {

/// out (count, centers): squared distances of queries (count, d) to the centers, summed in float64.
__global__ void center_distances_kernel(const double* queries, std::int64_t count, std::int64_t d,
                                        const double* center_values, std::int64_t centers, double* out) {
  for (std::int64_t pair = warp_index(); pair < count * centers; pair += warp_count()) {
    const double *x = queries + pair / centers * d, *c = center_values + pair % centers * d;
    double sum = 0.0;
    for (std::int64_t j = lane_index(); j < d; j += kWarp) sum += (x[j] - c[j]) * (x[j] - c[j]);
#pragma unroll
    for (int w = kWarp / 2; w > 0; w /= 2) sum += __shfl_xor_sync(kAllLanes, sum, w);
    if (lane_index() == 0) out[pair] = sum;
  }
}

template <class T>
Matrix<double> center_distances(const HeldRows<T>& held, MatrixView<const double> queries) {
  const CenteredGroups<T>& all = *held.cells.groups;
  const std::int64_t centers = all.center_count, d = held.columns();
  const std::int64_t batch = std::min(queries.rows, std::max<std::int64_t>((std::int64_t{64} << 20) / (d * 8), 1));
  Matrix<double> distances(queries.rows, centers);
  const Buffer<double> values(held.pool(), batch * d), out(held.pool(), batch * centers);
  for (std::int64_t first = 0; first < queries.rows; first += batch) {
    const std::int64_t count = std::min(batch, queries.rows - first);
    held.stream().upload(values.data(), queries.data + first * d, count * d);
    center_distances_kernel<<<held.context->grid(count * centers, kBlockWarps), kBlock, 0, held.stream()>>>(
        values.data(), count, d, all.centers.data(), centers, out.data());
    check(cudaGetLastError());
    held.stream().download(distances.row(first).data(), out.data(), count * centers);
  }
  return distances;
}

/// The group to which a query with these squared distances to the centers would belong, or one of the same center.
template <class T>
std::size_t own_group(const CenteredGroups<T>& all, std::span<const double> squared) {
  const auto center = std::min_element(squared.begin(), squared.end()) - squared.begin();
  std::size_t own = 0;
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    const CenteredGroup<T>& group = all.groups[g];
    if (group.center == center &&
        !(group.is_far && std::sqrt(squared[static_cast<std::size_t>(center)]) < group.reach.hole))
      own = g;
  }
  return own;
}

}  // namespace

template <class T>
void search_groups(const HeldRows<T>& held, const Queries& queries, const GroupSearch<T>& search,
                   NeighborLists& lists) {
  const CenteredGroups<T>& all = *held.cells.groups;
  const std::int64_t q = queries.values.rows, last = lists.index.columns() - 1;
  const Matrix<double> distances = center_distances(held, queries.values);
  const auto search_group = [&](const CenteredGroup<T>& group, const std::vector<std::int64_t>& chosen,
                                const SearchRows<T>& search_rows) {
    search_gathered(queries, chosen, lists, [&](const Queries& some, NeighborLists& found) {
      search_rows(*group.rows, some, found);
      for (std::int64_t& row : std::span(found.index.data(), static_cast<std::size_t>(found.index.size()))) {
        if (row >= 0) row = held.first_row + group.position[static_cast<std::size_t>(row)];
      }
      lists.fallback_queries += found.fallback_queries;
    });
  };
  std::vector<std::vector<std::int64_t>> members(all.groups.size());
  std::vector<std::size_t> own;
  for (std::int64_t i = 0; i < q; ++i) {
    own.push_back(own_group(all, distances.row(i)));
    members[own.back()].push_back(i);
  }
  for (std::size_t g = 0; g < all.groups.size(); ++g) search_group(all.groups[g], members[g], search.own);

  std::vector<double> reach;  // infinite until a list is full
  const auto update_reach = [&](std::int64_t i) {
    reach[static_cast<std::size_t>(i)] =
        lists.index(i, last) < 0 ? std::numeric_limits<double>::infinity() : std::sqrt(lists.distance(i, last));
  };
  reach.resize(static_cast<std::size_t>(q));
  for (std::int64_t i = 0; i < q; ++i) update_reach(i);
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    const CenteredGroup<T>& group = all.groups[g];
    std::vector<std::int64_t> chosen;
    for (std::int64_t i = 0; i < q; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (own[at] != g && !group.reach.is_beyond(distances(i, group.center), reach[at])) chosen.push_back(i);
    }
    search_group(group, chosen, search.others);
    for (const std::int64_t i : chosen) update_reach(i);
  }
}

#define KITH_INSTANTIATE(T) \
  template void search_groups(const HeldRows<T>&, const Queries&, const GroupSearch<T>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
