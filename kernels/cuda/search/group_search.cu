// Searches groups of rows, one after another, for the queries to which a group may matter.
//
// A row within r of a center c is at least |q - c| - r from a query q, and one outside of h at least h - |q - c|. A
// group is left out if the square of that, rounded down by far more than the definition may be rounded, exceeds the
// k-th D of the list.
#include "kernels/cuda/search/group_search.h"

#include <algorithm>
#include <cmath>
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

/// Whether all rows of a group are beyond D = last of a query. squared: of the distance between query and center. A NaN
/// proves nothing.
template <class T>
bool is_beyond(const CenteredGroup<T>& group, double squared, double last) {
  constexpr double kDown = 1 - 0x1p-30, kUp = 1 + 0x1p-30;
  const double distance = std::sqrt(squared);
  const double apart = std::max(distance * kDown - group.radius, group.hole - distance * kUp);
  return std::isfinite(squared) && apart > 0 && apart * apart * kDown > last;
}

/// The group to which a query with these squared distances to the centers would belong, or one of the same center.
template <class T>
std::size_t own_group(const CenteredGroups<T>& all, std::span<const double> squared) {
  const auto center = std::min_element(squared.begin(), squared.end()) - squared.begin();
  std::size_t own = 0;
  for (std::size_t g = 0; g < all.groups.size(); ++g) {
    const CenteredGroup<T>& group = all.groups[g];
    if (group.center == center && !(group.is_far && std::sqrt(squared[static_cast<std::size_t>(center)]) < group.hole))
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
  std::vector<std::size_t> own;
  for (std::int64_t i = 0; i < q; ++i) own.push_back(own_group(all, distances.row(i)));
  for (const bool first : {true, false}) {
    for (std::size_t g = 0; g < all.groups.size(); ++g) {
      const CenteredGroup<T>& group = all.groups[g];
      std::vector<std::int64_t> chosen;
      for (std::int64_t i = 0; i < q; ++i) {
        if ((own[static_cast<std::size_t>(i)] == g) != first) continue;
        const bool needed =
            first || lists.index(i, last) < 0 || !is_beyond(group, distances(i, group.center), lists.distance(i, last));
        if (needed) chosen.push_back(i);
      }
      search_gathered(queries, chosen, lists, [&](const Queries& some, NeighborLists& found) {
        (first ? search.own : search.others)(*group.rows, some, found);
        for (std::int64_t& row : std::span(found.index.data(), static_cast<std::size_t>(found.index.size()))) {
          if (row >= 0) row = held.first_row + group.position[static_cast<std::size_t>(row)];
        }
        lists.fallback_queries += found.fallback_queries;
      });
    }
  }
}

#define KITH_INSTANTIATE(T) \
  template void search_groups(const HeldRows<T>&, const Queries&, const GroupSearch<T>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
