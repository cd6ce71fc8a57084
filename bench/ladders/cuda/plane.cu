// Ladder: the full n x n matrix of Euclidean distances between n points in a plane, in float32.
//
// The rungs follow a published study of kernels for n = 30336 on an RTX 5070 Ti (896 GB/s); `kith bench` prints its
// figures as well. A kernel reads 8 n bytes and writes 4 n^2, so the write rate is the limit: 0.80 ms for 3.68 GB at
// 4.63 TB/s. A distance takes two subtractions, two multiplications and a square root, each rounded once: its relative
// error is at most 4 x 2^-24.
#include <cuda_pipeline.h>

#include <cmath>

#include "bench/ladders/cuda/ladder.h"
#include "core/numbers/distance.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kPoints = 30336;
constexpr int kTile = 128;                  // rows, and columns, of a tile; n is a multiple of it
constexpr std::int64_t kMaxPoints = 65408;  // n^2 fits in 32 bits
constexpr double kBound = 4 * 0x1p-24;

__device__ float distance_of(float2 a, float2 b) {
  const float x = a.x - b.x, y = a.y - b.y;
  return sqrtf(fmaf(x, x, y * y));
}

// 1: one thread per row; neighbouring threads write n elements apart.
__global__ void row_kernel(const float2* points, unsigned n, float* out) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  for (unsigned column = 0; column < n; ++column) {
    out[static_cast<std::size_t>(row) * n + column] = distance_of(points[row], points[column]);
  }
}

// 2: neighbouring threads write neighbouring elements; a division gives the row and the column.
__global__ void element_kernel(const float2* points, unsigned n, float* out) {
  const unsigned all = n * n, step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += min(step, all - i)) {
    out[i] = distance_of(points[i / n], points[i % n]);
  }
}

/// Starts an asynchronous copy of kTile points to shared memory.
__device__ void fetch_tile(float2* to, const float2* from) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kBlock) {
    __pipeline_memcpy_async(to + i, from + i, sizeof(float2));
  }
}

// 3: asynchronous copies bring the points of a tile to shared memory; each element still takes a division.
__global__ void shared_kernel(const float2* points, unsigned n, unsigned width, float* out) {
  __shared__ float2 rows[kTile], columns[kTile];
  const unsigned first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  fetch_tile(rows, points + first_row);
  fetch_tile(columns, points + first_column);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTile * width; i += kBlock) {
    const unsigned row = i / width, column = i % width;
    out[static_cast<std::size_t>(first_row + row) * n + first_column + column] =
        distance_of(rows[row], columns[column]);
  }
}

/// Writes the tile. A thread keeps one column and computes every second element of it.
__device__ void write_columns(const float2* rows, const float2* columns, unsigned n, float* tile) {
  const unsigned column = threadIdx.x % kTile;
  const float2 own = columns[column];
  for (unsigned row = threadIdx.x / kTile; row < kTile; row += kBlock / kTile) {
    tile[static_cast<std::size_t>(row) * n + column] = distance_of(rows[row], own);
  }
}

// 4: no division in the loop.
__global__ void column_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float2 rows[kTile], columns[kTile];
  const unsigned first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  fetch_tile(rows, points + first_row);
  fetch_tile(columns, points + first_column);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  write_columns(rows, columns, n, out + static_cast<std::size_t>(first_row) * n + first_column);
}

// 5: a block continues with the tiles to its right; the points of the next tile arrive while this one is written.
__global__ void pipeline_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float2 rows[kTile], columns[2][kTile];
  const unsigned first_row = blockIdx.y * kTile, step = gridDim.x * kTile;
  fetch_tile(rows, points + first_row);
  fetch_tile(columns[0], points + blockIdx.x * kTile);
  __pipeline_commit();
  int stage = 0;
  for (unsigned first_column = blockIdx.x * kTile; first_column < n; first_column += step, stage ^= 1) {
    if (first_column + step < n) fetch_tile(columns[stage ^ 1], points + first_column + step);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    write_columns(rows, columns[stage], n, out + static_cast<std::size_t>(first_row) * n + first_column);
    __syncthreads();  // before these points are replaced
  }
}

// 6: streaming writes: a warp writes 512 bytes with one instruction, a block 4 KiB of each of its rows, consecutive
// blocks write consecutive memory, and the stores are marked as not reused, so that the L2 evicts them first.
constexpr int kBlockColumns = 4 * kBlock;
constexpr int kBlockRows = 16;
__global__ void stream_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float2 rows[kBlockRows];
  const unsigned first_row = blockIdx.y * kBlockRows, column = blockIdx.x * kBlockColumns + 4 * threadIdx.x;
  if (threadIdx.x < kBlockRows) rows[threadIdx.x] = points[first_row + threadIdx.x];
  __syncthreads();
  if (column >= n) return;
  float2 own[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) own[i] = points[column + i];
  float* to = out + static_cast<std::size_t>(first_row) * n + column;
#pragma unroll 4
  for (int row = 0; row < kBlockRows; ++row, to += n) {
    const float2 other = rows[row];
    __stcs(reinterpret_cast<float4*>(to), make_float4(distance_of(other, own[0]), distance_of(other, own[1]),
                                                      distance_of(other, own[2]), distance_of(other, own[3])));
  }
}

// 7: symmetric: a tile above the diagonal is computed, written, transposed in shared memory, and written again below
// the diagonal. An odd pitch puts the elements of a column in different banks.
constexpr int kSide = 64;
constexpr int kGroups = kSide / 4;  // groups of four columns; a thread has one
/// The tile (row, column) of this block, in the upper triangle. One row of the grid holds two rows of the triangle: row
/// y with n - y tiles and row n - 1 - y with y + 1 tiles, n being the number of tiles in a row of the matrix.
__device__ uint2 triangle_tile(unsigned tiles) {
  const unsigned x = blockIdx.x, y = blockIdx.y;
  return x > y ? make_uint2(y, x - 1) : make_uint2(tiles - 1 - y, tiles - 1 - x);
}
__global__ void symmetric_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float transposed[kSide][kSide + 1];
  const uint2 tile = triangle_tile(n / kSide);
  const unsigned first_row = tile.x * kSide, first_column = tile.y * kSide;
  const unsigned column = threadIdx.x % kGroups * 4, first = threadIdx.x / kGroups;
  float2 own[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) own[i] = points[first_column + column + i];
#pragma unroll
  for (unsigned row = first; row < kSide; row += kBlock / kGroups) {
    const float2 other = points[first_row + row];
    float d[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      d[i] = distance_of(other, own[i]);
      transposed[column + i][row] = d[i];
    }
    __stcs(reinterpret_cast<float4*>(out + static_cast<std::size_t>(first_row + row) * n + first_column + column),
           make_float4(d[0], d[1], d[2], d[3]));
  }
  if (tile.x == tile.y) return;
  __syncthreads();
#pragma unroll
  for (unsigned row = first; row < kSide; row += kBlock / kGroups) {
    __stcs(reinterpret_cast<float4*>(out + static_cast<std::size_t>(first_column + row) * n + first_row + column),
           make_float4(transposed[row][column], transposed[row][column + 1], transposed[row][column + 2],
                       transposed[row][column + 3]));
  }
}

/// Counts the elements that differ from the float64 distance by more than the bound.
__global__ void check_kernel(const float2* points, unsigned n, const float* out, Word* wrong) {
  Word own_wrong = 0;
  for (std::int64_t i = thread_index(); i < static_cast<std::int64_t>(n) * n; i += thread_count()) {
    const float2 a = points[i / n], b = points[i % n];
    const double x = static_cast<double>(a.x) - b.x, y = static_cast<double>(a.y) - b.y;
    const double exact = sqrt(x * x + y * y);
    own_wrong += !(fabs(out[i] - exact) <= kBound * exact);
  }
  own_wrong = warp_sum(own_wrong);
  if (lane_index() == 0 && own_wrong > 0) atomicAdd(wrong, own_wrong);
}

/// One problem: its points, on the host and on the device, and the matrix.
class Plane {
 public:
  Plane(Context& context, unsigned n)
      : context_(context),
        n_(n),
        host_(cpu::uniform_values(2 * std::int64_t{n}, 1)),
        flat_(to_device(context, host_)),
        out_(context.pool, std::int64_t{n} * n),
        wrong_(context.pool, 1) {}

  const float2* points() const { return reinterpret_cast<const float2*>(flat_.data()); }
  float* out() const { return out_.data(); }

  /// Checks every element on the device and a few rows on the host, then fills the matrix with NaNs for the next rung.
  /// Returns an error message, or an empty string.
  std::string check_answer() const {
    const Stream& stream = context_.stream;
    Word wrong = 0;
    stream.fill(wrong_.data(), 0, 1);
    check_kernel<<<context_.grid(out_.size(), kBlock), kBlock, 0, stream>>>(points(), n_, out(), wrong_.data());
    check(cudaGetLastError());
    stream.download(&wrong, wrong_.data(), 1);
    if (wrong > 0) return concat(wrong, " elements differ from their distance by more than 2^-22 of it");
    std::vector<float> result(n_);
    for (const unsigned row : {0U, n_ / 2 + 1, n_ - 1}) {
      stream.download(result.data(), out() + std::int64_t{row} * n_, n_);
      for (unsigned column = 0; column < n_; ++column) {
        const double exact = std::sqrt(squared_distance(&host_[2 * row], &host_[2 * column], 2));
        if (std::abs(result[column] - exact) <= kBound * exact) continue;
        return concat("row ", row, ", column ", column, ": expected ", exact, ", found ", result[column]);
      }
    }
    stream.fill(out(), 0xFF, out_.size());  // NaN
    stream.wait();
    return "";
  }

 private:
  Context& context_;
  unsigned n_;
  std::vector<float> host_;
  Buffer<float> flat_, out_;
  Buffer<Word> wrong_;
};

std::int64_t point_count(const BenchShape& shape) {
  if (shape.columns == 2 && shape.rows % kTile == 0 && shape.rows <= kMaxPoints) return shape.rows;
  throw Error(ExitCode::usage, concat("--shape ", shape.rows, "x", shape.columns,
                                      ": expected Nx2 with N a multiple of ", kTile, " up to ", kMaxPoints));
}

void run_ladder(Context& context, std::int64_t count, const BenchRequest& request,
                std::vector<Measurement>& measurements) {
  const auto n = static_cast<unsigned>(count);
  const Plane plane(context, n);
  const float2* points = plane.points();
  float* out = plane.out();
  const Stream& stream = context.stream;
  const unsigned tiles = n / kTile, grid_columns = std::max(tiles / 8, 1U), small_tiles = n / kSide;
  Ladder ladder(context, request, measurements);
  const auto rung = [&](const char* name, const char* published, const auto& launch) {
    ladder.run({.name = name,
                .shape = concat(n, " x ", n),
                .work = 4.0 * n * n,
                .unit = WorkUnit::bytes,
                .limit = kWriteLimit,
                .published = count == kPoints ? published : ""},
               launch, [&] { return plane.check_answer(); });
  };
  rung("1 one thread per row", "233 GB/s",
       [&](std::int64_t) { row_kernel<<<(n + kBlock - 1) / kBlock, kBlock, 0, stream>>>(points, n, out); });
  rung("2 coalesced writes", "359 GB/s", [&](std::int64_t) {
    element_kernel<<<context.grid(count * count, kBlock), kBlock, 0, stream>>>(points, n, out);
  });
  rung("3 points in shared memory", "516 GB/s",
       [&](std::int64_t) { shared_kernel<<<dim3(tiles, tiles), kBlock, 0, stream>>>(points, n, kTile, out); });
  rung("4 no division per element", "681 GB/s",
       [&](std::int64_t) { column_kernel<<<dim3(tiles, tiles), kBlock, 0, stream>>>(points, n, out); });
  rung("5 two-stage pipeline", "",
       [&](std::int64_t) { pipeline_kernel<<<dim3(grid_columns, tiles), kBlock, 0, stream>>>(points, n, out); });
  rung("6 streaming 16-byte writes", "681 GB/s", [&](std::int64_t) {
    stream_kernel<<<dim3((n + kBlockColumns - 1) / kBlockColumns, n / kBlockRows), kBlock, 0, stream>>>(points, n, out);
  });
  rung("7 each pair computed once", "", [&](std::int64_t) {
    symmetric_kernel<<<dim3(small_tiles + 1, (small_tiles + 1) / 2), kBlock, 0, stream>>>(points, n, out);
  });
}

}  // namespace

std::vector<Measurement> climb_plane(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) counts.push_back(point_count(shape));
  if (counts.empty()) counts.push_back(kPoints);
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const std::int64_t count : counts) run_ladder(context, count, request, measurements);
  return measurements;
}

}  // namespace kith::cuda
