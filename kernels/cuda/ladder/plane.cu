// Ladder: the full n x n matrix of Euclidean distances of n points in a plane, float32, with the root.
//
// After a kernel-by-kernel study published for n = 30336 on an RTX 5070 Ti (896 GB/s), whose figures stand beside ours.
// 8 n bytes in, 4 n^2 out: writing is the floor (0.80 ms for 3.68 GB at 4.63 TB/s). A distance costs two subtractions,
// two multiplications and a root, each rounded once: it is within 4 x 2^-24 of itself.
#include <cuda_pipeline.h>

#include <cmath>

#include "core/distance.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/ladder.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kPoints = 30336;
constexpr int kTile = 128;                   // rows, and columns, of a tile; n is a multiple of it
constexpr std::int64_t kMostPoints = 65408;  // n^2 fits 32 bits
constexpr double kBound = 4 * 0x1p-24;

__device__ float distance_of(float2 a, float2 b) {
  const float x = a.x - b.x, y = a.y - b.y;
  return sqrtf(fmaf(x, x, y * y));
}

// 1: a thread has a row; at any moment its neighbours write n elements further on.
__global__ void row_kernel(const float2* points, unsigned n, float* out) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  for (unsigned column = 0; column < n; ++column) {
    out[static_cast<std::size_t>(row) * n + column] = distance_of(points[row], points[column]);
  }
}

// 2: neighbouring threads write neighbouring elements; a division says which.
__global__ void element_kernel(const float2* points, unsigned n, float* out) {
  const unsigned all = n * n, step = gridDim.x * blockDim.x;
  for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < all; at += min(step, all - at)) {
    out[at] = distance_of(points[at / n], points[at % n]);
  }
}

/// Copies kTile points to shared memory without passing through registers; they are there after the wait.
__device__ void fetch_tile(float2* to, const float2* from) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kBlock) {
    __pipeline_memcpy_async(to + i, from + i, sizeof(float2));
  }
}

// 3: the points of a tile come to shared memory by asynchronous copies; still a division for each element.
__global__ void shared_kernel(const float2* points, unsigned n, unsigned width, float* out) {
  __shared__ float2 rows[kTile], columns[kTile];
  const unsigned first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  fetch_tile(rows, points + first_row);
  fetch_tile(columns, points + first_column);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (unsigned at = threadIdx.x; at < kTile * width; at += kBlock) {
    const unsigned row = at / width, column = at % width;
    out[static_cast<std::size_t>(first_row + row) * n + first_column + column] =
        distance_of(rows[row], columns[column]);
  }
}

/// A thread keeps its column and walks down the rows of the tile.
__device__ void write_columns(const float2* rows, const float2* columns, unsigned n, float* tile) {
  const unsigned column = threadIdx.x % kTile;
  const float2 mine = columns[column];
  for (unsigned row = threadIdx.x / kTile; row < kTile; row += kBlock / kTile) {
    tile[static_cast<std::size_t>(row) * n + column] = distance_of(rows[row], mine);
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

// 5: a block goes on to the tiles at its right; the next one's points arrive while this one is written.
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

// 6: arranged for the L2: a warp writes 512 bytes with one instruction, a block 4 KiB of each of its rows, blocks
// follow the order of memory, and what is written does not stay in the cache.
constexpr int kWide = 4 * kBlock;  // columns of a block
constexpr int kRows = 16;          // rows of a block
__global__ void stream_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float2 rows[kRows];
  const unsigned first_row = blockIdx.y * kRows, column = blockIdx.x * kWide + 4 * threadIdx.x;
  if (threadIdx.x < kRows) rows[threadIdx.x] = points[first_row + threadIdx.x];
  __syncthreads();
  if (column >= n) return;
  float2 mine[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) mine[i] = points[column + i];
  float* to = out + static_cast<std::size_t>(first_row) * n + column;
#pragma unroll 4
  for (int row = 0; row < kRows; ++row, to += n) {
    const float2 other = rows[row];
    __stcs(reinterpret_cast<float4*>(to), make_float4(distance_of(other, mine[0]), distance_of(other, mine[1]),
                                                      distance_of(other, mine[2]), distance_of(other, mine[3])));
  }
}

// 7: each pair once: a tile above the diagonal is computed, written, turned in shared memory, and written again below
// it. An odd pitch keeps neighbours of a column in different banks.
constexpr int kSide = 64;
constexpr int kGroups = kSide / 4;  // of four columns, one to a thread
/// Tiles of the upper triangle, two of its rows to one of the grid: row y of n - y tiles and row n - 1 - y of y + 1.
__device__ uint2 triangle_tile(unsigned tiles) {
  const unsigned x = blockIdx.x, y = blockIdx.y;
  return x > y ? make_uint2(y, x - 1) : make_uint2(tiles - 1 - y, tiles - 1 - x);
}
__global__ void symmetric_kernel(const float2* points, unsigned n, float* out) {
  __shared__ float turned[kSide][kSide + 1];
  const uint2 tile = triangle_tile(n / kSide);
  const unsigned first_row = tile.x * kSide, first_column = tile.y * kSide;
  const unsigned column = threadIdx.x % kGroups * 4, first = threadIdx.x / kGroups;
  float2 mine[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) mine[i] = points[first_column + column + i];
#pragma unroll
  for (unsigned row = first; row < kSide; row += kBlock / kGroups) {
    const float2 other = points[first_row + row];
    float d[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      d[i] = distance_of(other, mine[i]);
      turned[column + i][row] = d[i];
    }
    __stcs(reinterpret_cast<float4*>(out + static_cast<std::size_t>(first_row + row) * n + first_column + column),
           make_float4(d[0], d[1], d[2], d[3]));
  }
  if (tile.x == tile.y) return;
  __syncthreads();
#pragma unroll
  for (unsigned row = first; row < kSide; row += kBlock / kGroups) {
    __stcs(reinterpret_cast<float4*>(out + static_cast<std::size_t>(first_column + row) * n + first_row + column),
           make_float4(turned[row][column], turned[row][column + 1], turned[row][column + 2], turned[row][column + 3]));
  }
}

/// Counts elements beyond the bound around their distance in float64.
__global__ void check_kernel(const float2* points, unsigned n, const float* out, Word* wrong) {
  Word mine = 0;
  for (std::int64_t at = thread_index(); at < static_cast<std::int64_t>(n) * n; at += thread_count()) {
    const float2 a = points[at / n], b = points[at % n];
    const double x = static_cast<double>(a.x) - b.x, y = static_cast<double>(a.y) - b.y;
    const double exact = sqrt(x * x + y * y);
    mine += !(fabs(out[at] - exact) <= kBound * exact);
  }
  mine = warp_sum(mine);
  if (lane_index() == 0 && mine > 0) atomicAdd(wrong, mine);
}

/// One problem: its points on both sides, and the matrix.
class Plane {
 public:
  Plane(Context& context, unsigned n)
      : context_(context),
        n_(n),
        host_(uniform_values(2 * std::int64_t{n}, 1)),
        flat_(to_device(context, host_)),
        out_(context.pool, std::int64_t{n} * n),
        wrong_(context.pool, 1) {}

  const float2* points() const { return reinterpret_cast<const float2*>(flat_.data()); }
  float* out() const { return out_.data(); }

  /// Every element on the device, a few rows by the definition; then the matrix is spoilt for the next rung.
  std::string check_answer() const {
    const Stream& stream = context_.stream;
    Word wrong = 0;
    stream.fill(wrong_.data(), 0, 1);
    check_kernel<<<context_.grid(out_.size(), kBlock), kBlock, 0, stream>>>(points(), n_, out(), wrong_.data());
    check(cudaGetLastError());
    stream.download(&wrong, wrong_.data(), 1);
    if (wrong > 0) return joined(wrong, " elements are beyond 2^-22 of their distance");
    std::vector<float> found(n_);
    for (const unsigned row : {0U, n_ / 2 + 1, n_ - 1}) {
      stream.download(found.data(), out() + std::int64_t{row} * n_, n_);
      for (unsigned column = 0; column < n_; ++column) {
        const double exact = std::sqrt(squared_distance(&host_[2 * row], &host_[2 * column], 2));
        if (std::abs(found[column] - exact) <= kBound * exact) continue;
        return joined("row ", row, ", column ", column, ": expected ", exact, ", found ", found[column]);
      }
    }
    stream.fill(out(), 0xFF, out_.size());  // not a number
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

std::int64_t points_of(const BenchShape& shape) {
  if (shape.columns == 2 && shape.rows % kTile == 0 && shape.rows <= kMostPoints) return shape.rows;
  throw Error(ExitCode::usage, joined("--shape ", shape.rows, "x", shape.columns,
                                      ": expected Nx2 with N a multiple of ", kTile, " up to ", kMostPoints));
}

void climb(Context& context, std::int64_t count, const BenchRequest& request, std::vector<Measurement>& found) {
  const auto n = static_cast<unsigned>(count);
  const Plane plane(context, n);
  const float2* points = plane.points();
  float* out = plane.out();
  const Stream& stream = context.stream;
  const unsigned tiles = n / kTile, few = std::max(tiles / 8, 1U), squares = n / kSide;
  Ladder ladder(context, request, found);
  const auto rung = [&](const char* name, const char* published, const auto& launch) {
    ladder.climb({.name = name,
                  .shape = joined(n, " x ", n),
                  .work = 4.0 * n * n,
                  .unit = WorkUnit::bytes,
                  .limit = kWriteLimit,
                  .published = count == kPoints ? published : ""},
                 launch, [&] { return plane.check_answer(); });
  };
  rung("1 a thread per row", "233 GB/s",
       [&](std::int64_t) { row_kernel<<<(n + kBlock - 1) / kBlock, kBlock, 0, stream>>>(points, n, out); });
  rung("2 neighbours write neighbours", "359 GB/s", [&](std::int64_t) {
    element_kernel<<<context.grid(count * count, kBlock), kBlock, 0, stream>>>(points, n, out);
  });
  rung("3 points in shared memory", "516 GB/s",
       [&](std::int64_t) { shared_kernel<<<dim3(tiles, tiles), kBlock, 0, stream>>>(points, n, kTile, out); });
  rung("4 no division", "681 GB/s",
       [&](std::int64_t) { column_kernel<<<dim3(tiles, tiles), kBlock, 0, stream>>>(points, n, out); });
  rung("5 two-stage pipeline", "",
       [&](std::int64_t) { pipeline_kernel<<<dim3(few, tiles), kBlock, 0, stream>>>(points, n, out); });
  rung("6 arranged for the L2", "681 GB/s", [&](std::int64_t) {
    stream_kernel<<<dim3((n + kWide - 1) / kWide, n / kRows), kBlock, 0, stream>>>(points, n, out);
  });
  rung("7 each pair once", "", [&](std::int64_t) {
    symmetric_kernel<<<dim3(squares + 1, (squares + 1) / 2), kBlock, 0, stream>>>(points, n, out);
  });
}

}  // namespace

std::vector<Measurement> climb_plane(const BenchRequest& request) {
  std::vector<std::int64_t> counts;
  for (const BenchShape& shape : request.shapes) counts.push_back(points_of(shape));
  if (counts.empty()) counts.push_back(kPoints);
  Context context(request.backend);
  std::vector<Measurement> found;
  for (const std::int64_t count : counts) climb(context, count, request, found);
  return found;
}

}  // namespace kith::cuda
