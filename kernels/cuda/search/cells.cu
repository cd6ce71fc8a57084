// Divides the rows among centers (cell_centers.cu): each to the nearest, in float32, since any division gives right
// results. One pass over the rows for the cells, one that copies them, and one that prepares the copies.
#include "kernels/cuda/search/cells.h"

#include <algorithm>
#include <span>

#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/row_sample.h"
#include "kernels/cuda/search/sort.h"
#include "kernels/cuda/search/tree.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMostCells = 2 * kMostCenters;
constexpr int kTogether = 4;  // rows of a warp at a time

/// Finds the cell of each row: 2 c for the near rows of center c, 2 c + 1 for those whose squared distance is above
/// limit[c]. centers: (d, kMostCenters). The first `count` of them, a multiple of 32, are compared; a place without a
/// center repeats the first. largest: (kMostCells) bits of an upper bound of the largest squared distance to the
/// center. kCenters: of a lane at a time.
template <class T, int kCenters>
__global__ void __launch_bounds__(kBlock)
    cells_kernel(const T* values, std::int64_t n, std::int64_t d, const BoxSide<T>* centers, const float* limit,
                 int count, std::uint64_t* key, std::int32_t* row, unsigned* largest) {
  using Side = BoxSide<T>;
  __shared__ unsigned block_largest[kMostCells];
  static_assert(kMostCells <= kBlock, "a thread has a cell");
  if (threadIdx.x < kMostCells) block_largest[threadIdx.x] = 0;
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
    for (int at = lane; at < count; at += kWarp * kCenters) {
      Side sum[kTogether][kCenters] = {};
      for (std::int64_t j = 0; j < d; ++j) {
        Side center[kCenters];
#pragma unroll
        for (int s = 0; s < kCenters; ++s) center[s] = __ldg(centers + j * kMostCenters + at + s * kWarp);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const Side x_j = static_cast<Side>(__ldg(x[i] + j));
#pragma unroll
          for (int s = 0; s < kCenters; ++s) {
            const Side difference = x_j - center[s];
            sum[i][s] = fma(difference, difference, sum[i][s]);
          }
        }
      }
#pragma unroll
      for (int s = 0; s < kCenters; ++s) {
        const int c = at + s * kWarp;
        if (c >= count) continue;
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          // Covers the rounding of up to 4000 terms, and squares that vanish.
          static_assert(kMostTreeColumns <= 4000);
          const float bound =
              __fmaf_ru(static_cast<float>(sum[i][s]), 1.0F + 0x1p-12F, static_cast<float>(d) * 0x1p-120F);
          if (__float_as_uint(bound) >= best[i]) continue;
          best[i] = __float_as_uint(bound);
          nearest[i] = c;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const unsigned smallest = __reduce_min_sync(kAllLanes, best[i]);
      const int chosen = __ffs(static_cast<int>(__ballot_sync(kAllLanes, best[i] == smallest))) - 1;
      if (first + i >= n || lane != chosen) continue;
      const int cell = 2 * nearest[i] + (__uint_as_float(best[i]) > limit[nearest[i]] ? 1 : 0);
      key[first + i] = static_cast<std::uint64_t>(cell);
      row[first + i] = static_cast<std::int32_t>(first + i);
      atomicMax(&block_largest[cell], best[i]);
    }
  }
  __syncthreads();
  if (threadIdx.x < kMostCells) atomicMax(&largest[threadIdx.x], block_largest[threadIdx.x]);
}

/// A lower bound of the distance to the center of rows above the limit.
double hole_of(float limit, std::int64_t d) {
  const double squared = static_cast<double>(limit) * (1 - 0x1p-10) - static_cast<double>(d) * 0x1p-118;
  return squared > 0 ? std::sqrt(squared) * (1 - 0x1p-40) : 0.0;
}

/// Where each cell begins among sorted keys: begin[g] for all cells and one more.
__global__ void begins_kernel(const std::uint64_t* key, std::int64_t n, std::int32_t* begin) {
  for (std::int64_t i = thread_index(); i <= n; i += thread_count()) {
    const std::int64_t before = i == 0 ? -1 : static_cast<std::int64_t>(key[i - 1]);
    const std::int64_t here = i == n ? kMostCells : static_cast<std::int64_t>(key[i]);
    for (std::int64_t g = before + 1; g <= here; ++g) begin[g] = static_cast<std::int32_t>(i);
  }
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
std::shared_ptr<Cells<T>> make_cells(const HeldRows<T>& held, const SearchSample& sample, CellPurpose purpose) {
  using Side = BoxSide<T>;
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
  const Buffer<std::int32_t> rows(held.pool(), 2 * n), begins(held.pool(), kMostCells + 1);
  const Buffer<unsigned> largest(held.pool(), kMostCells);
  RowOrder order{{keys.data(), keys.data() + n}, {rows.data(), rows.data() + n}, n, 0};
  stream.upload(device_centers.data(), transposed.data(), d * kMostCenters);
  stream.upload(device_limits.data(), limits.data(), kMostCenters);
  stream.fill(largest.data(), 0, kMostCells);
  const auto kernel = count <= kWarp ? cells_kernel<T, 1> : cells_kernel<T, kMostCenters / kWarp>;
  kernel<<<context.grid(n, kBlockWarps * kTogether), kBlock, 0, stream>>>(
      held.resident.data(), n, d, device_centers.data(), device_limits.data(),
      static_cast<int>((count + kWarp - 1) / kWarp * kWarp), order.key[0], order.row[0], largest.data());
  check(cudaGetLastError());
  std::size_t bytes = 0;
  sort_by_key(stream, order, 8, nullptr, bytes);
  const Buffer<std::byte> temporary(held.pool(), static_cast<std::int64_t>(bytes));
  sort_by_key(stream, order, 8, temporary.data(), bytes);
  begins_kernel<<<context.grid(n + 1, kBlock), kBlock, 0, stream>>>(order.key[order.current], n, begins.data());
  check(cudaGetLastError());
  std::vector<std::int32_t> begin(static_cast<std::size_t>(kMostCells + 1));
  std::vector<float> squared_radius(static_cast<std::size_t>(kMostCells));
  stream.download(begin.data(), begins.data(), kMostCells + 1);
  stream.download(reinterpret_cast<unsigned*>(squared_radius.data()), largest.data(), kMostCells);

  auto made = std::make_shared<Cells<T>>();
  made->centers = Buffer<double>(held.pool(), count * d);
  made->center_count = count;
  made->share = chosen.share;
  made->position = Buffer<std::int32_t>(held.pool(), n);
  check(cudaMemcpyAsync(made->position.data(), order.row[order.current],
                        static_cast<std::size_t>(n) * sizeof(std::int32_t), cudaMemcpyDeviceToDevice, stream));
  // Distances to the centers are measured to those that the radii are of.
  Matrix<double> measured(count, d);
  for (std::int64_t i = 0; i < measured.size(); ++i)
    measured.data()[i] = static_cast<double>(static_cast<Side>(centers.data()[i]));
  stream.upload(made->centers.data(), measured.data(), measured.size());
  constexpr std::int64_t kAligned = 256 / sizeof(T);  // as allocations are
  made->values = Buffer<T>(held.pool(), n * d + 2 * count * kAligned);
  T* values = made->values.data();
  std::vector<Preparation<T>> preparations;  // all of them queued before the first is waited for
  for (std::size_t g = 0; g < static_cast<std::size_t>(2 * count); ++g) {
    const std::int64_t first = begin[g], size = begin[g + 1] - first;
    if (size == 0) continue;
    Cell<T>& cell = made->cells.emplace_back();
    cell.center = static_cast<std::int64_t>(g / 2);
    cell.is_far = g % 2 == 1;
    cell.reach.hole = cell.is_far ? hole_of(limits[g / 2], d) : 0.0;
    cell.reach.radius = std::sqrt(static_cast<double>(squared_radius[g])) * (1 + 0x1p-40);
    gather_kernel<<<context.grid(size * d, kBlock), kBlock, 0, stream>>>(
        held.resident.data(), order.row[order.current] + first, size, d, values);
    check(cudaGetLastError());
    cell.rows = std::make_unique<HeldRows<T>>(held.context, Buffer<T>(values, size * d), size, d);
    values += (size * d + kAligned - 1) / kAligned * kAligned;
    DataPlan plan = held.plan;
    plan.screen = screen_around(measured.row(cell.center), cell.reach.radius, held.plan.screen);
    preparations.emplace_back(*cell.rows, plan);
  }
  for (Preparation<T>& preparation : preparations) preparation.finish();
  return made;
}

#define KITH_INSTANTIATE(T) \
  template std::shared_ptr<Cells<T>> make_cells(const HeldRows<T>&, const SearchSample&, CellPurpose);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
