// All distances between queries and held rows by the definition, computed in parts that fit the device and downloaded.
//
// A warp computes 4 x 4 distances at a time, so that it uses each loaded value four times. A distance takes 2 d float64
// operations (0.008 ns for d = 128 at 34 TFLOP/s) and an 8-byte download (0.15 ns at 55 GB/s): the download is the
// limit until d exceeds about 2000.
#include <algorithm>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/with_measure.h"
#include "kernels/cuda/search/operations.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMaxDistances = std::int64_t{1} << 25;  // on the device at a time

/// out: (queries, rows)
template <class T, Measure M>
__global__ void grid_kernel(DistanceGrid<T> grid, double* out) {
  distances_of_grid<M>(
      grid, [&](std::int64_t row, std::int64_t query, double distance) { out[query * grid.rows + row] = distance; });
}

}  // namespace

template <class T>
void all_distances(const HeldRows<T>& held, const Queries& request, MatrixView<double> out) {
  const MatrixView<const double> queries = request.values;
  if (queries.rows == 0) return;
  const std::int64_t d = held.columns();
  const Stream& stream = held.stream();
  const std::int64_t spare = std::max<std::int64_t>(held.pool().available() / 4 / sizeof(double), 1);
  const std::int64_t size = std::min(kMaxDistances, spare);
  const std::int64_t max_rows = std::min(size, held.largest_block());
  const std::int64_t max_queries = std::clamp<std::int64_t>(std::min(size / max_rows, spare / d), 1, queries.rows);
  Buffer<double> device_queries(held.pool(), max_queries * d);
  Buffer<double> device_distances(held.pool(), max_rows * max_queries);

  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    for (std::int64_t query = 0; query < queries.rows; query += max_queries) {
      const std::int64_t query_count = std::min(max_queries, queries.rows - query);
      stream.upload(device_queries.data(), queries.data + query * d, query_count * d);
      for (std::int64_t row = 0; row < block.rows; row += max_rows) {
        const std::int64_t rows = std::min(max_rows, block.rows - row);
        const DistanceGrid<T> grid{values + row * d, rows, rows, device_queries.data(), query_count, d};
        with_measure<T>(request.measure, [&](auto measure) {
          grid_kernel<T, measure.value>
              <<<held.context->grid(grid.items(), kBlockWarps), kBlock, 0, stream>>>(grid, device_distances.data());
        });
        check(cudaGetLastError());
        double* to = out.data + query * out.columns + block.first + row;
        if (rows == out.columns) {
          stream.download(to, device_distances.data(), rows * query_count);  // of contiguous values: the fastest way
        } else {
          check(cudaMemcpy2DAsync(to, out.columns * sizeof(double), device_distances.data(), rows * sizeof(double),
                                  rows * sizeof(double), query_count, cudaMemcpyDeviceToHost, stream));
        }
        stream.wait();
      }
    }
  });
}

#define KITH_INSTANTIATE(T) template void all_distances(const HeldRows<T>&, const Queries&, MatrixView<double>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
