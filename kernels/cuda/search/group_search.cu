// Searches groups of rows, one after another, for the queries to which a group may matter.
//
// A row within r of a center c is at least |q - c| - r from a query q. A group is left out if the square of that,
// rounded down by far more than the definition may be rounded, exceeds the k-th D of the list.
#include "kernels/cuda/search/group_search.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/search/gathered_queries.h"

namespace kith::cuda {
namespace {

/// out (count, groups): squared distances of queries (count, d) to the centers, summed in float64.
__global__ void center_distances_kernel(const double* queries, std::int64_t count, std::int64_t d,
                                        const double* centers, std::int64_t groups, double* out) {
  for (std::int64_t pair = warp_index(); pair < count * groups; pair += warp_count()) {
    const double *x = queries + pair / groups * d, *c = centers + pair % groups * d;
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
  const std::int64_t groups = std::ssize(all.groups), d = held.columns();
  const std::int64_t batch = std::min(queries.rows, std::max<std::int64_t>((std::int64_t{64} << 20) / (d * 8), 1));
  Matrix<double> distances(queries.rows, groups);
  const Buffer<double> values(held.pool(), batch * d), out(held.pool(), batch * groups);
  for (std::int64_t first = 0; first < queries.rows; first += batch) {
    const std::int64_t count = std::min(batch, queries.rows - first);
    held.stream().upload(values.data(), queries.data + first * d, count * d);
    center_distances_kernel<<<held.context->grid(count * groups, kBlockWarps), kBlock, 0, held.stream()>>>(
        values.data(), count, d, all.centers.data(), groups, out.data());
    check(cudaGetLastError());
    held.stream().download(distances.row(first).data(), out.data(), count * groups);
  }
  return distances;
}

/// Whether all rows of a group are beyond D = last of a query. squared: of the distance between query and center. A NaN
/// proves nothing.
bool is_beyond(double squared, double radius, double last) {
  constexpr double kDown = 1 - 0x1p-30;
  const double apart = std::sqrt(squared) * kDown - radius;
  return std::isfinite(squared) && apart > 0 && apart * apart * kDown > last;
}

}  // namespace

template <class T>
void search_groups(const HeldRows<T>& held, const Queries& queries, const SearchRows<T>& search_rows,
                   NeighborLists& lists) {
  const CenteredGroups<T>& all = *held.cells.groups;
  const std::int64_t q = queries.values.rows, last = lists.index.columns() - 1;
  const Matrix<double> distances = center_distances(held, queries.values);
  std::vector<std::int64_t> nearest_group;
  for (std::int64_t i = 0; i < q; ++i) {
    const auto row = distances.row(i);
    nearest_group.push_back(std::min_element(row.begin(), row.end()) - row.begin());
  }
  for (const bool nearest : {true, false}) {
    for (std::int64_t g = 0; g < std::ssize(all.groups); ++g) {
      const CenteredGroup<T>& group = all.groups[static_cast<std::size_t>(g)];
      if (group.rows == nullptr) continue;
      std::vector<std::int64_t> chosen;
      for (std::int64_t i = 0; i < q; ++i) {
        if ((nearest_group[static_cast<std::size_t>(i)] == g) != nearest) continue;
        const bool needed =
            nearest || lists.index(i, last) < 0 || !is_beyond(distances(i, g), group.radius, lists.distance(i, last));
        if (needed) chosen.push_back(i);
      }
      search_gathered(queries, chosen, lists, [&](const Queries& some, NeighborLists& found) {
        search_rows(*group.rows, some, found);
        for (std::int64_t& row : std::span(found.index.data(), static_cast<std::size_t>(found.index.size()))) {
          if (row >= 0) row = held.first_row + group.position[static_cast<std::size_t>(row)];
        }
        lists.fallback_queries += found.fallback_queries;
      });
    }
  }
}

#define KITH_INSTANTIATE(T) \
  template void search_groups(const HeldRows<T>&, const Queries&, const SearchRows<T>&, NeighborLists&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
