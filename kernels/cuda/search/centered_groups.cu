// Chooses centers from a sample of the rows, and divides the rows among them: each to the nearest, in float32, since
// any division gives right results. One pass over the rows for the groups, one that copies them, and one that prepares
// the copies.
//
// The first centers are rows drawn in proportion to D to the centers before (D. Arthur, S. Vassilvitskii: k-means++,
// 2007), then moved to the means of their near rows, twice.
#include "kernels/cuda/search/centered_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "core/philox.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/cell_launch.h"
#include "kernels/cuda/search/cell_order.h"
#include "kernels/cuda/search/row_sample.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostCenters = 4 * kWarp;  // a lane has one of each 32
constexpr std::int64_t kMostGroups = 2 * kMostCenters;
constexpr std::int64_t kSampleRows = 1024;
constexpr int kTogether = 4;  // rows of a warp at a time

/// Finds the group of each row: 2 c for the near rows of center c, 2 c + 1 for those whose squared distance is above
/// limit[c]. centers: (d, kMostCenters). The first `count` of them, a multiple of 32, are compared; a place without a
/// center repeats the first. largest: (kMostGroups) bits of an upper bound of the largest squared distance to the
/// center.
template <class T>
__global__ void __launch_bounds__(kBlock)
    groups_kernel(const T* values, std::int64_t n, std::int64_t d, const CellSide<T>* centers, const float* limit,
                  int count, std::uint64_t* key, std::int32_t* row, unsigned* largest) {
  using Side = CellSide<T>;
  __shared__ unsigned block_largest[kMostGroups];
  static_assert(kMostGroups <= kBlock, "a thread has a group");
  if (threadIdx.x < kMostGroups) block_largest[threadIdx.x] = 0;
  __syncthreads();
  const int lane = lane_index();
  for (std::int64_t first = warp_index() * kTogether; first < n; first += warp_count() * kTogether) {
    const T* x[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) x[i] = values + min(first + i, n - 1) * d;
    unsigned best[kTogether];
    int nearest[kTogether] = {};
#pragma unroll
    for (int i = 0; i < kTogether; ++i) best[i] = ~0U;
    for (int c = lane; c < count; c += kWarp) {
      Side sum[kTogether] = {};
      for (std::int64_t j = 0; j < d; ++j) {
        const Side center = __ldg(centers + j * kMostCenters + c);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const Side difference = static_cast<Side>(__ldg(x[i] + j)) - center;
          sum[i] = fma(difference, difference, sum[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        // Covers the rounding of up to 4000 terms, and squares that vanish.
        static_assert(kMostCellColumns <= 4000);
        const float bound = __fmaf_ru(static_cast<float>(sum[i]), 1.0F + 0x1p-12F, static_cast<float>(d) * 0x1p-120F);
        if (__float_as_uint(bound) >= best[i]) continue;
        best[i] = __float_as_uint(bound);
        nearest[i] = c;
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const unsigned smallest = __reduce_min_sync(kAllLanes, best[i]);
      const int chosen = __ffs(static_cast<int>(__ballot_sync(kAllLanes, best[i] == smallest))) - 1;
      if (first + i >= n || lane != chosen) continue;
      const int group = 2 * nearest[i] + (__uint_as_float(best[i]) > limit[nearest[i]] ? 1 : 0);
      key[first + i] = static_cast<std::uint64_t>(group);
      row[first + i] = static_cast<std::int32_t>(first + i);
      atomicMax(&block_largest[group], best[i]);
    }
  }
  __syncthreads();
  if (threadIdx.x < kMostGroups) atomicMax(&largest[threadIdx.x], block_largest[threadIdx.x]);
}

/// A lower bound of the distance to the center of rows above the limit.
double hole_of(float limit, std::int64_t d) {
  const double squared = static_cast<double>(limit) * (1 - 0x1p-10) - static_cast<double>(d) * 0x1p-118;
  return squared > 0 ? std::sqrt(squared) * (1 - 0x1p-40) : 0.0;
}

/// Where each group begins among sorted keys: begin[g] for all groups and one more.
__global__ void begins_kernel(const std::uint64_t* key, std::int64_t n, std::int32_t* begin) {
  for (std::int64_t i = thread_index(); i <= n; i += thread_count()) {
    const std::int64_t before = i == 0 ? -1 : static_cast<std::int64_t>(key[i - 1]);
    const std::int64_t here = i == n ? kMostGroups : static_cast<std::int64_t>(key[i]);
    for (std::int64_t g = before + 1; g <= here; ++g) begin[g] = static_cast<std::int32_t>(i);
  }
}

double squared_distance(std::span<const double> x, std::span<const double> y) {
  double sum[4] = {};  // in any order
  const std::size_t whole = x.size() / 4 * 4;
  for (std::size_t j = 0; j < whole; j += 4) {
    for (std::size_t l = 0; l < 4; ++l) sum[l] += (x[j + l] - y[j + l]) * (x[j + l] - y[j + l]);
  }
  for (std::size_t j = whole; j < x.size(); ++j) sum[0] += (x[j] - y[j]) * (x[j] - y[j]);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

std::size_t nearest_center(std::span<const double> row, const Matrix<double>& centers, double& distance) {
  std::size_t nearest = 0;
  distance = std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < centers.rows(); ++c) {
    const double each = squared_distance(row, centers.row(c));
    if (each < distance) distance = each, nearest = static_cast<std::size_t>(c);
  }
  return nearest;
}

/// Draws sampled rows as first centers, one after another.
class FirstCenters {
 public:
  explicit FirstCenters(const Matrix<double>& rows)
      : rows_(rows), distance_(static_cast<std::size_t>(rows.rows()), std::numeric_limits<double>::infinity()) {}

  /// Adds a row as a center; false if no row differs from the centers.
  bool add() {
    const auto draw = static_cast<std::uint64_t>(chosen_.size());
    std::int64_t row = random_below(0, 0, draw, rows_.rows());
    if (draw > 0) {
      std::vector<double> total(distance_);
      std::partial_sum(total.begin(), total.end(), total.begin());
      if (!(total.back() > 0) || !std::isfinite(total.back())) return false;
      const double at = total.back() * std::ldexp(static_cast<double>(random_bits(0, 0, draw) >> 12), -52);
      row = std::min<std::int64_t>(std::upper_bound(total.begin(), total.end(), at) - total.begin(), rows_.rows() - 1);
    }
    for (std::int64_t i = 0; i < rows_.rows(); ++i) {
      double& nearest = distance_[static_cast<std::size_t>(i)];
      nearest = std::min(nearest, squared_distance(rows_.row(i), rows_.row(row)));
    }
    chosen_.push_back(row);
    return true;
  }

  Matrix<double> centers() const {
    Matrix<double> values(std::ssize(chosen_), rows_.columns());
    for (std::int64_t c = 0; c < values.rows(); ++c) {
      const auto from = rows_.row(chosen_[static_cast<std::size_t>(c)]);
      std::copy(from.begin(), from.end(), values.row(c).begin());
    }
    return values;
  }

 private:
  const Matrix<double>& rows_;
  std::vector<double> distance_;  // D to the nearest center
  std::vector<std::int64_t> chosen_;
};

/// Sampled rows divided among centers.
struct Division {
  std::vector<std::size_t> nearest;  // the center of each row
  std::vector<double> distance;      // D of each row to it
  std::vector<double> limit;         // of each center: D of its near rows is not above this
  std::vector<double> usual[2];      // of each center: D of most near rows, and of most far ones; 0: there are none
};

double quantile(std::span<const double> sorted) {
  constexpr double kQuantile = 0.95;
  return sorted.empty() ? 0.0 : sorted[static_cast<std::size_t>(kQuantile * static_cast<double>(sorted.size() - 1))];
}

/// How many of the sorted distances are near ones: all, or those before the widest free interval if it is wide.
std::size_t near_count(std::span<const double> sorted) {
  constexpr double kWide = 8.0;  // D behind it / D before it
  constexpr std::size_t kFewest = 4, kShare = 32;
  const std::size_t fewest = std::max(kFewest, sorted.size() / kShare);
  std::size_t count = sorted.size();
  double widest = kWide;
  for (std::size_t i = fewest; i + fewest <= sorted.size(); ++i) {
    if (!(sorted[i] > widest * sorted[i - 1])) continue;
    widest = sorted[i] / sorted[i - 1];
    count = i;
  }
  return count;
}

Division divide(const Matrix<double>& rows, const Matrix<double>& centers) {
  Division division;
  std::vector<std::vector<double>> distances(static_cast<std::size_t>(centers.rows()));
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    double distance = 0.0;
    const std::size_t center = nearest_center(rows.row(i), centers, distance);
    division.nearest.push_back(center);
    division.distance.push_back(distance);
    distances[center].push_back(distance);
  }
  for (std::vector<double>& each : distances) {
    std::sort(each.begin(), each.end());
    const std::size_t near = near_count(each);
    const std::span<const double> all(each);
    // The geometric mean of the distances beside it.
    division.limit.push_back(near < all.size() ? std::sqrt(all[near - 1]) * std::sqrt(all[near])
                                               : std::numeric_limits<double>::infinity());
    division.usual[0].push_back(quantile(all.first(near)));
    division.usual[1].push_back(quantile(all.subspan(near)));
  }
  return division;
}

/// The means of the near rows of each center, which stays where it is if it has none.
Matrix<double> near_means(const Matrix<double>& rows, const Matrix<double>& centers) {
  const Division division = divide(rows, centers);
  Matrix<double> means(centers.rows(), rows.columns());
  std::fill_n(means.data(), means.size(), 0.0);
  std::vector<double> count(static_cast<std::size_t>(centers.rows()));
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const std::size_t center = division.nearest[static_cast<std::size_t>(i)];
    if (division.distance[static_cast<std::size_t>(i)] > division.limit[center]) continue;
    const auto sum = means.row(static_cast<std::int64_t>(center));
    for (std::int64_t j = 0; j < rows.columns(); ++j) sum[static_cast<std::size_t>(j)] += rows(i, j);
    ++count[center];
  }
  for (std::int64_t c = 0; c < means.rows(); ++c) {
    const double rows_of_center = count[static_cast<std::size_t>(c)];
    for (std::int64_t j = 0; j < means.columns(); ++j)
      means(c, j) = rows_of_center > 0 ? means(c, j) / rows_of_center : centers(c, j);
  }
  return means;
}

/// Whether products in fp16 relative to these centers decide most of the sampled queries: those near which the error is
/// small beside the distance to their neighbours.
bool decides(const Matrix<double>& centers, const Division& division, const SearchSample& sample) {
  constexpr double kSmall = 0.02;
  constexpr std::int64_t kShare = 8;
  std::int64_t ambiguous = 0;
  for (std::int64_t q = 0; q < sample.queries.rows(); ++q) {
    double distance = 0.0;
    const std::size_t center = nearest_center(sample.queries.row(q), centers, distance);
    const double scale = division.usual[distance > division.limit[center] ? 1 : 0][center];
    if (!(sample.error * scale <= kSmall * sample.nearest[static_cast<std::size_t>(q)])) ++ambiguous;
  }
  return kShare * ambiguous <= sample.queries.rows();
}

/// The share of the sampled rows in groups that a sampled query needs, on average.
double needed_share(const Matrix<double>& centers, const Division& division, const SearchSample& sample) {
  constexpr double kLarger = 1.25;  // radius of all rows of a group / of the sampled ones
  const auto groups = static_cast<std::size_t>(2 * centers.rows());
  const auto group_of = [&](std::size_t center, double distance) {
    return 2 * center + (distance > division.limit[center] ? 1 : 0);
  };
  std::vector<double> rows(groups), radius(groups);
  for (std::size_t i = 0; i < division.nearest.size(); ++i) {
    const std::size_t group = group_of(division.nearest[i], division.distance[i]);
    rows[group] += 1;
    radius[group] = std::max(radius[group], kLarger * std::sqrt(division.distance[i]));
  }
  double needed = 0.0;
  for (std::int64_t q = 0; q < sample.queries.rows(); ++q) {
    const std::span<const double> query = sample.queries.row(q);
    double own_distance = 0.0;
    const std::size_t center = nearest_center(query, centers, own_distance);
    const std::size_t own = group_of(center, own_distance);
    const double reach = std::sqrt(sample.nearest[static_cast<std::size_t>(q)]);
    for (std::size_t g = 0; g < groups; ++g) {
      const double distance = std::sqrt(squared_distance(query, centers.row(static_cast<std::int64_t>(g / 2))));
      const double hole = g % 2 == 1 ? std::sqrt(division.limit[g / 2]) : 0.0;
      const bool is_beyond = std::max(distance - radius[g], hole - distance) > reach;
      if (g == own || !is_beyond) needed += rows[g];
    }
  }
  return needed / static_cast<double>(sample.queries.rows() * std::ssize(division.nearest));
}

struct ChosenCenters {
  Matrix<double> values;      // none if no number of centers up to kMostCenters serves the purpose
  std::vector<double> limit;  // of D of their near rows
  double share = 1.0;         // needed_share()
};

/// For precision, as few centers as decide most queries; for pruning, those for which queries need the fewest rows.
template <class T>
ChosenCenters choose_centers(const HeldRows<T>& held, const SearchSample& sample, GroupPurpose purpose) {
  constexpr double kLargestShare = 0.25, kFewer = 0.9;
  const std::int64_t d = held.columns();
  const Matrix<double> rows = draw_sample(held, kSampleRows, 1);
  FirstCenters first(rows);
  ChosenCenters none{Matrix<double>(0, d), {}}, best{Matrix<double>(0, d), {}};
  for (std::int64_t centers = 1; centers <= kMostCenters && first.add(); ++centers) {
    if ((centers & (centers - 1)) != 0) continue;
    Matrix<double> means = near_means(rows, near_means(rows, first.centers()));
    const Division division = divide(rows, means);
    const double share = needed_share(means, division, sample);
    const bool enough = purpose == GroupPurpose::precision && decides(means, division, sample);
    const bool better = purpose == GroupPurpose::precision || centers == 1 || share < kFewer * best.share;
    if (better) best = {std::move(means), division.limit, share};
    if (enough) return best;
  }
  const bool serves = purpose == GroupPurpose::pruning && best.share <= kLargestShare;
  return serves || held.context->forced.groups ? std::move(best) : std::move(none);
}

/// The transform of a screen around a center: no value of a row within the radius is beyond 1.
ScreenTransform screen_around(std::span<const double> center, double radius, ScreenTransform screen) {
  if (radius > 0 && std::isfinite(radius)) std::frexp(radius, &screen.exponent);
  for (std::size_t j = 0; j < center.size(); ++j)
    screen.center[j] = static_cast<float>(std::ldexp(center[j], -screen.exponent));
  return screen;
}

}  // namespace

template <class T>
std::shared_ptr<CenteredGroups<T>> make_centered_groups(const HeldRows<T>& held, const SearchSample& sample,
                                                        GroupPurpose purpose) {
  using Side = CellSide<T>;
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows(), d = held.columns();
  const ChosenCenters chosen = choose_centers(held, sample, purpose);
  const Matrix<double>& centers = chosen.values;
  const std::int64_t count = centers.rows();
  if (count == 0) return nullptr;

  std::vector<Side> transposed(static_cast<std::size_t>(d * kMostCenters));
  for (std::int64_t j = 0; j < d; ++j) {
    for (std::int64_t c = 0; c < kMostCenters; ++c)
      transposed[static_cast<std::size_t>(j * kMostCenters + c)] = static_cast<Side>(centers(c < count ? c : 0, j));
  }
  std::vector<float> limits(static_cast<std::size_t>(kMostCenters), std::numeric_limits<float>::infinity());
  std::transform(chosen.limit.begin(), chosen.limit.end(), limits.begin(),
                 [](double limit) { return static_cast<float>(limit); });
  const Buffer<Side> device_centers(held.pool(), d * kMostCenters);
  const Buffer<float> device_limits(held.pool(), kMostCenters);
  const Buffer<std::uint64_t> keys(held.pool(), 2 * n);
  const Buffer<std::int32_t> rows(held.pool(), 2 * n), begins(held.pool(), kMostGroups + 1);
  const Buffer<unsigned> largest(held.pool(), kMostGroups);
  CellOrder order{{keys.data(), keys.data() + n}, {rows.data(), rows.data() + n}, n, 0};
  stream.upload(device_centers.data(), transposed.data(), d * kMostCenters);
  stream.upload(device_limits.data(), limits.data(), kMostCenters);
  stream.fill(largest.data(), 0, kMostGroups);
  groups_kernel<<<context.grid(n, kBlockWarps * kTogether), kBlock, 0, stream>>>(
      held.resident.data(), n, d, device_centers.data(), device_limits.data(),
      static_cast<int>((count + kWarp - 1) / kWarp * kWarp), order.key[0], order.row[0], largest.data());
  check(cudaGetLastError());
  std::size_t bytes = 0;
  sort_by_key(stream, order, 8, nullptr, bytes);
  const Buffer<std::byte> temporary(held.pool(), static_cast<std::int64_t>(bytes));
  sort_by_key(stream, order, 8, temporary.data(), bytes);
  begins_kernel<<<context.grid(n + 1, kBlock), kBlock, 0, stream>>>(order.key[order.current], n, begins.data());
  check(cudaGetLastError());
  std::vector<std::int32_t> begin(static_cast<std::size_t>(kMostGroups + 1)), positions(static_cast<std::size_t>(n));
  std::vector<float> squared_radius(static_cast<std::size_t>(kMostGroups));
  stream.download(begin.data(), begins.data(), kMostGroups + 1);
  stream.download(positions.data(), order.row[order.current], n);
  stream.download(reinterpret_cast<unsigned*>(squared_radius.data()), largest.data(), kMostGroups);

  auto made = std::make_shared<CenteredGroups<T>>();
  made->centers = Buffer<double>(held.pool(), count * d);
  made->center_count = count;
  made->share = chosen.share;
  made->position = Buffer<std::int32_t>(held.pool(), n);
  stream.upload(made->position.data(), positions.data(), n);
  // Distances to the centers are measured to those that the radii are of.
  Matrix<double> measured(count, d);
  for (std::int64_t i = 0; i < measured.size(); ++i)
    measured.data()[i] = static_cast<double>(static_cast<Side>(centers.data()[i]));
  stream.upload(made->centers.data(), measured.data(), measured.size());
  for (std::size_t g = 0; g < static_cast<std::size_t>(2 * count); ++g) {
    const std::int64_t first = begin[g], size = begin[g + 1] - first;
    if (size == 0) continue;
    Buffer<T> values(held.pool(), size * d);
    gather_kernel<<<context.grid(size * d, kBlock), kBlock, 0, stream>>>(
        held.resident.data(), order.row[order.current] + first, size, d, values.data());
    check(cudaGetLastError());
    CenteredGroup<T>& group = made->groups.emplace_back();
    group.center = static_cast<std::int64_t>(g / 2);
    group.is_far = g % 2 == 1;
    group.reach.hole = group.is_far ? hole_of(limits[g / 2], d) : 0.0;
    group.reach.radius = std::sqrt(static_cast<double>(squared_radius[g])) * (1 + 0x1p-40);
    group.position.assign(positions.begin() + first, positions.begin() + first + size);
    group.rows = std::make_unique<HeldRows<T>>(held.context, std::move(values), size, d);
    DataPlan plan = held.plan;
    plan.screen = screen_around(measured.row(group.center), group.reach.radius, held.plan.screen);
    prepare(*group.rows, plan);
  }
  return made;
}

#define KITH_INSTANTIATE(T)                                                                                 \
  template std::shared_ptr<CenteredGroups<T>> make_centered_groups(const HeldRows<T>&, const SearchSample&, \
                                                                   GroupPurpose);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
