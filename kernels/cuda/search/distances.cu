// All distances of queries and held rows by the definition, computed in pieces that fit the device and copied out.
//
// A warp has 4 x 4 distances at a time, so that a value loaded serves four. n q distances cost 2 d float64 operations
// each (0.008 ns at d = 128 and 34 TFLOP/s) and 8 bytes on the way to the host (0.15 ns at 55 GB/s): the copy is the
// floor until d exceeds about 2000.
#include <algorithm>

#include "kernels/cuda/device/definition.h"
#include "kernels/cuda/device/with_measure.h"
#include "kernels/cuda/search/operations.h"

namespace kith::cuda {
namespace {

constexpr int kSide = 4;                                    // rows, and queries, of a warp at a time
constexpr std::int64_t kPieceSize = std::int64_t{1} << 25;  // distances on the device at a time

/// out: (queries, rows)
template <class T, Measure M>
__global__ void grid_kernel(const T* values, std::int64_t rows, std::int64_t d, const double* queries,
                            std::int64_t query_count, double* out) {
  constexpr int kLanesEach = kWarp / (kSide * kSide);
  const int distance_of_lane = lane_index() / kLanesEach;
  const std::int64_t row_groups = (rows + kSide - 1) / kSide, query_groups = (query_count + kSide - 1) / kSide;
  for (std::int64_t at = warp_index(); at < row_groups * query_groups; at += warp_count()) {
    const std::int64_t first_row = at % row_groups * kSide, first_query = at / row_groups * kSide;
    const T* x[kSide];
    const double* c[kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      x[i] = values + min(first_row + i, rows - 1) * d;
      c[i] = queries + min(first_query + i, query_count - 1) * d;
    }
    double sum[kSide * kSide];
    accumulate_grid<M>(x, c, d, sum);
    const double distance = add_lanes<kSide * kSide, M>(sum);
    const std::int64_t row = first_row + distance_of_lane / kSide, query = first_query + distance_of_lane % kSide;
    if (lane_index() % kLanesEach == 0 && row < rows && query < query_count) out[query * rows + row] = distance;
  }
}

}  // namespace

template <class T>
void all_distances(const HeldRows<T>& held, const Queries& asked, MatrixView<double> out) {
  const MatrixView<const double> queries = asked.values;
  if (queries.rows == 0) return;
  const std::int64_t d = held.columns();
  const Stream& stream = held.stream();
  const std::int64_t spare = std::max<std::int64_t>(held.pool().available() / 4 / sizeof(double), 1);
  const std::int64_t size = std::min(kPieceSize, spare);
  const std::int64_t most_rows = std::min(size, held.largest_block());
  const std::int64_t most_queries = std::clamp<std::int64_t>(std::min(size / most_rows, spare / d), 1, queries.rows);
  Buffer<double> some_queries(held.pool(), most_queries * d);
  Buffer<double> piece(held.pool(), most_rows * most_queries);

  held.for_blocks([&](const Block<T>& block) {
    const T* values = held.on_device(block);
    for (std::int64_t query = 0; query < queries.rows; query += most_queries) {
      const std::int64_t query_count = std::min(most_queries, queries.rows - query);
      stream.upload(some_queries.data(), queries.data + query * d, query_count * d);
      for (std::int64_t row = 0; row < block.rows; row += most_rows) {
        const std::int64_t rows = std::min(most_rows, block.rows - row);
        with_measure(asked.measure, [&](auto measure) {
          grid_kernel<T, measure.value>
              <<<held.context->grid(rows * query_count, kBlockWarps * kSide * kSide), kBlock, 0, stream>>>(
                  values + row * d, rows, d, some_queries.data(), query_count, piece.data());
        });
        check(cudaGetLastError());
        double* to = out.data + query * out.columns + block.first + row;
        check(cudaMemcpy2DAsync(to, out.columns * sizeof(double), piece.data(), rows * sizeof(double),
                                rows * sizeof(double), query_count, cudaMemcpyDeviceToHost, stream));
        stream.wait();
      }
    }
  });
}

#define KITH_INSTANTIATE(T) template void all_distances(const HeldRows<T>&, const Queries&, MatrixView<double>);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
