// Chooses centers from a sample of the rows, and divides the rows among them: each to the nearest, in float32, since
// any division gives right results. One pass over the rows for the groups, one that copies them, and one that prepares
// the copies: for 1M x 128 about 3 ms on an H200.
//
// The first centers are rows drawn in proportion to D to the centers before (D. Arthur, S. Vassilvitskii: k-means++,
// 2007), then moved to the means of their rows.
#include "kernels/cuda/search/centered_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/cell_order.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostGroups = kWarp;  // a lane has one center
constexpr std::int64_t kSampleRows = 1024;
constexpr int kTogether = 4;  // rows of a warp at a time

/// Finds the group of each row. centers: (d, 32), those of missing groups repeat the first. largest: (groups) bits of
/// an upper bound of the largest squared distance to the center.
template <class T>
__global__ void __launch_bounds__(kBlock)
    groups_kernel(const T* values, std::int64_t n, std::int64_t d, const CellSide<T>* centers, std::uint64_t* key,
                  std::int32_t* row, unsigned* largest) {
  using Side = CellSide<T>;
  __shared__ unsigned block_largest[kMostGroups];
  if (threadIdx.x < kMostGroups) block_largest[threadIdx.x] = 0;
  __syncthreads();
  const int lane = lane_index();
  for (std::int64_t first = warp_index() * kTogether; first < n; first += warp_count() * kTogether) {
    const T* x[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) x[i] = values + min(first + i, n - 1) * d;
    Side sum[kTogether] = {};
    for (std::int64_t j = 0; j < d; ++j) {
      const Side center = __ldg(centers + j * kMostGroups + lane);
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const Side difference = static_cast<Side>(__ldg(x[i] + j)) - center;
        sum[i] = fma(difference, difference, sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      // Covers the rounding of up to 512 terms, and squares that vanish.
      const float bound = __fmaf_ru(static_cast<float>(sum[i]), 1.0F + 0x1p-12F, static_cast<float>(d) * 0x1p-120F);
      const unsigned bits = __float_as_uint(bound), smallest = __reduce_min_sync(kAllLanes, bits);
      const int nearest = __ffs(static_cast<int>(__ballot_sync(kAllLanes, bits == smallest))) - 1;
      if (first + i >= n || lane != nearest) continue;
      key[first + i] = static_cast<std::uint64_t>(nearest);
      row[first + i] = static_cast<std::int32_t>(first + i);
      atomicMax(&block_largest[nearest], bits);
    }
  }
  __syncthreads();
  if (threadIdx.x < kMostGroups) atomicMax(&largest[threadIdx.x], block_largest[threadIdx.x]);
}

/// Where each group begins among sorted keys: begin[g] for all groups and one more.
__global__ void begins_kernel(const std::uint64_t* key, std::int64_t n, std::int32_t* begin) {
  for (std::int64_t i = thread_index(); i <= n; i += thread_count()) {
    const std::int64_t before = i == 0 ? -1 : static_cast<std::int64_t>(key[i - 1]);
    const std::int64_t here = i == n ? kMostGroups : static_cast<std::int64_t>(key[i]);
    for (std::int64_t g = before + 1; g <= here; ++g) begin[g] = static_cast<std::int32_t>(i);
  }
}

template <class T>
__global__ void gather_kernel(const T* values, const std::int32_t* row, std::int64_t count, std::int64_t d, T* out) {
  for (std::int64_t i = thread_index(); i < count * d; i += thread_count()) out[i] = values[row[i / d] * d + i % d];
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

/// Sampled rows with their nearest centers.
class CenterSearch {
 public:
  explicit CenterSearch(const Matrix<double>& rows)
      : rows_(rows),
        distance_(static_cast<std::size_t>(rows.rows()), std::numeric_limits<double>::infinity()),
        nearest_(static_cast<std::size_t>(rows.rows())) {}

  /// Adds a row as a center; false if no row differs from the centers.
  bool add() {
    const auto draw = static_cast<std::uint64_t>(count_);
    std::int64_t row = random_below(0, 0, draw, rows_.rows());
    if (count_ > 0) {
      std::vector<double> total(distance_);
      std::partial_sum(total.begin(), total.end(), total.begin());
      if (!(total.back() > 0) || !std::isfinite(total.back())) return false;
      const double at = total.back() * std::ldexp(static_cast<double>(random_bits(0, 0, draw) >> 12), -52);
      row = std::min<std::int64_t>(std::upper_bound(total.begin(), total.end(), at) - total.begin(), rows_.rows() - 1);
    }
    for (std::int64_t i = 0; i < rows_.rows(); ++i) {
      const double each = squared_distance(rows_.row(i), rows_.row(row));
      const auto at = static_cast<std::size_t>(i);
      if (each < distance_[at]) distance_[at] = each, nearest_[at] = count_;
    }
    ++count_;
    return true;
  }

  /// The means of the rows of each center.
  Matrix<double> means() const {
    Matrix<double> sums(count_, rows_.columns());
    std::vector<double> rows(static_cast<std::size_t>(count_));
    std::fill_n(sums.data(), sums.size(), 0.0);
    for (std::int64_t i = 0; i < rows_.rows(); ++i) {
      const std::int64_t center = nearest_[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < rows_.columns(); ++j) sums(center, j) += rows_(i, j);
      ++rows[static_cast<std::size_t>(center)];
    }
    for (std::int64_t c = 0; c < count_; ++c) {
      for (double& sum : sums.row(c)) sum /= rows[static_cast<std::size_t>(c)];
    }
    return sums;
  }

 private:
  const Matrix<double>& rows_;
  std::vector<double> distance_;  // D to the nearest center
  std::vector<std::int64_t> nearest_;
  std::int64_t count_ = 0;
};

std::size_t nearest_center(std::span<const double> row, const Matrix<double>& centers, double& distance) {
  std::size_t nearest = 0;
  distance = std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < centers.rows(); ++c) {
    const double each = squared_distance(row, centers.row(c));
    if (each < distance) distance = each, nearest = static_cast<std::size_t>(c);
  }
  return nearest;
}

/// Whether products in fp16 relative to these centers decide most of the sampled queries: those near which the error is
/// small beside the distance to their neighbours.
bool decides(const Matrix<double>& centers, const Matrix<double>& rows, const SearchSample& sample) {
  constexpr double kQuantile = 0.95, kSmall = 0.02;
  constexpr std::int64_t kShare = 8;
  std::vector<std::vector<double>> distances(static_cast<std::size_t>(centers.rows()));
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    double distance = 0.0;
    const std::size_t group = nearest_center(rows.row(i), centers, distance);
    distances[group].push_back(distance);
  }
  std::vector<double> usual;  // D of most rows of a group to its center
  for (std::vector<double>& group : distances) {
    const auto place = group.begin() + static_cast<std::int64_t>(kQuantile * static_cast<double>(group.size()));
    std::nth_element(group.begin(), std::min(place, group.end()), group.end());
    usual.push_back(group.empty() ? 0.0 : *std::min(place, group.end() - 1));
  }
  std::int64_t ambiguous = 0;
  for (std::int64_t q = 0; q < sample.queries.rows(); ++q) {
    double distance = 0.0;
    const double scale = usual[nearest_center(sample.queries.row(q), centers, distance)];
    if (!(sample.error * scale <= kSmall * sample.nearest[static_cast<std::size_t>(q)])) ++ambiguous;
  }
  return kShare * ambiguous <= sample.queries.rows();
}

/// As few centers as decide most queries; empty if kMostGroups do not.
template <class T>
Matrix<double> choose_centers(const HeldRows<T>& held, const SearchSample& sample) {
  const std::int64_t d = held.columns(), count = std::min(kSampleRows, held.rows());
  std::vector<std::int32_t> chosen;
  for (std::int64_t i = 0; i < count; ++i)
    chosen.push_back(static_cast<std::int32_t>(random_below(0, 1, static_cast<std::uint64_t>(i), held.rows())));
  const Buffer<std::int32_t> positions(held.pool(), count);
  const Buffer<T> gathered(held.pool(), count * d);
  held.stream().upload(positions.data(), chosen.data(), count);
  gather_kernel<<<held.context->grid(count * d, kBlock), kBlock, 0, held.stream()>>>(
      held.resident.data(), positions.data(), count, d, gathered.data());
  check(cudaGetLastError());
  std::vector<T> values(static_cast<std::size_t>(count * d));
  held.stream().download(values.data(), gathered.data(), count * d);
  Matrix<double> rows(count, d);
  std::transform(values.begin(), values.end(), rows.data(), [](T value) { return static_cast<double>(value); });
  CenterSearch search(rows);
  Matrix<double> centers(0, d);
  for (std::int64_t groups = 1; groups <= kMostGroups && search.add(); ++groups) {
    if (groups == 1 || (groups & (groups - 1)) != 0) continue;
    centers = search.means();
    if (decides(centers, rows, sample)) return centers;
  }
  return held.context->forced.groups ? std::move(centers) : Matrix<double>(0, d);
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
std::shared_ptr<CenteredGroups<T>> make_centered_groups(const HeldRows<T>& held, const SearchSample& sample) {
  using Side = CellSide<T>;
  const Context& context = *held.context;
  const Stream& stream = held.stream();
  const std::int64_t n = held.rows(), d = held.columns();
  const Matrix<double> centers = choose_centers(held, sample);
  const std::int64_t count = centers.rows();
  if (count == 0) return nullptr;

  std::vector<Side> transposed(static_cast<std::size_t>(d * kMostGroups));
  for (std::int64_t j = 0; j < d; ++j) {
    for (std::int64_t g = 0; g < kMostGroups; ++g)
      transposed[static_cast<std::size_t>(j * kMostGroups + g)] = static_cast<Side>(centers(g < count ? g : 0, j));
  }
  const Buffer<Side> device_centers(held.pool(), d * kMostGroups);
  const Buffer<std::uint64_t> keys(held.pool(), 2 * n);
  const Buffer<std::int32_t> rows(held.pool(), 2 * n), begins(held.pool(), kMostGroups + 1);
  const Buffer<unsigned> largest(held.pool(), kMostGroups);
  CellOrder order{{keys.data(), keys.data() + n}, {rows.data(), rows.data() + n}, n, 0};
  stream.upload(device_centers.data(), transposed.data(), d * kMostGroups);
  stream.fill(largest.data(), 0, kMostGroups);
  groups_kernel<<<context.grid(n, kBlockWarps * kTogether), kBlock, 0, stream>>>(
      held.resident.data(), n, d, device_centers.data(), order.key[0], order.row[0], largest.data());
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
  made->groups.resize(static_cast<std::size_t>(count));
  // Distances to the centers are measured to those that the radii are of.
  Matrix<double> measured(count, d);
  for (std::int64_t i = 0; i < measured.size(); ++i)
    measured.data()[i] = static_cast<double>(static_cast<Side>(centers.data()[i]));
  stream.upload(made->centers.data(), measured.data(), measured.size());
  for (std::int64_t g = 0; g < count; ++g) {
    CenteredGroup<T>& group = made->groups[static_cast<std::size_t>(g)];
    const std::int64_t first = begin[static_cast<std::size_t>(g)];
    const std::int64_t size = begin[static_cast<std::size_t>(g + 1)] - first;
    if (size == 0) continue;
    Buffer<T> values(held.pool(), size * d);
    gather_kernel<<<context.grid(size * d, kBlock), kBlock, 0, stream>>>(
        held.resident.data(), order.row[order.current] + first, size, d, values.data());
    check(cudaGetLastError());
    group.radius = std::sqrt(static_cast<double>(squared_radius[static_cast<std::size_t>(g)])) * (1 + 0x1p-40);
    group.position.assign(positions.begin() + first, positions.begin() + first + size);
    group.rows = std::make_unique<HeldRows<T>>(held.context, std::move(values), size, d);
    DataPlan plan = held.plan;
    plan.screen = screen_around(measured.row(g), group.radius, held.plan.screen);
    prepare(*group.rows, plan);
  }
  return made;
}

#define KITH_INSTANTIATE(T) \
  template std::shared_ptr<CenteredGroups<T>> make_centered_groups(const HeldRows<T>&, const SearchSample&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
