// Ladder: squared distances of all rows of A (M x N) to all columns of B (N x K), in float32.
//
// After D. Grondzak et al., Accelerating vector calculations on GPU, whose rungs 1 to 3 and figures (Tesla C1060) stand
// beside ours. The rate counts 2 M N K; differences take half again as much. The floor is that of float32 products,
// and of half-precision ones for the tensor cores. Every element is compared with float64, within a stated bound.
#include "kernels/cuda/ladder/distances.h"

#include <bit>
#include <cmath>

#include "core/distance.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/register_tile.h"

namespace kith::cuda {
namespace {

constexpr int kSide = 16;  // of the tiles in shared memory

/// sum + (a - b)^2
__device__ float add_square(float sum, float a, float b) {
  const float t = a - b;
  return fmaf(t, t, sum);
}

// 1: a thread per element, all from global memory.
__global__ void element_kernel(DistanceProblem p) {
  const int column = static_cast<int>(blockIdx.x * kSide + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * kSide + threadIdx.y);
  float sum = 0.0F;
  for (int j = 0; j < p.depth; ++j) {
    sum = add_square(sum, p.a[static_cast<std::int64_t>(row) * p.depth + j],
                     p.b[static_cast<std::int64_t>(j) * p.columns + column]);
  }
  p.out[static_cast<std::int64_t>(row) * p.columns + column] = sum;
}

// 2 and 3: tiles of 16 x 16 in shared memory. Turned, the tile of B is read down its columns, and threads of a warp
// meet in the same banks; as it is, neighbours read neighbours.
template <bool kTurned>
__global__ void tile_kernel(DistanceProblem p) {
  __shared__ float a[kSide][kSide], b[kSide][kSide];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSide + x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kSide + y;
  float sum = 0.0F;
  for (int first = 0; first < p.depth; first += kSide) {
    a[y][x] = p.a[row * p.depth + first + x];
    (kTurned ? b[x][y] : b[y][x]) = p.b[static_cast<std::int64_t>(first + y) * p.columns + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kSide; ++j) sum = add_square(sum, a[y][j], kTurned ? b[x][j] : b[j][x]);
    __syncthreads();
  }
  p.out[row * p.columns + column] = sum;
}

// 4: 8 x 8 elements in the registers of each thread (register_tile.h).
struct Differences {
  __device__ float add(float sum, float a, float b) const { return add_square(sum, a, b); }
  __device__ float finish(float sum, std::int64_t, std::int64_t) const { return sum; }
};

/// The distances in float64, to compare with.
__global__ void exact_kernel(DistanceProblem p, double* exact) {
  __shared__ float a[kSide][kSide], b[kSide][kSide];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSide + x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kSide + y;
  double sum = 0.0;
  for (int first = 0; first < p.depth; first += kSide) {
    a[y][x] = p.a[row * p.depth + first + x];
    b[y][x] = p.b[static_cast<std::int64_t>(first + y) * p.columns + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const double t = static_cast<double>(a[y][j]) - b[j][x];
      sum = fma(t, t, sum);
    }
    __syncthreads();
  }
  exact[row * p.columns + column] = sum;
}

/// found[0]: elements beyond their bound; found[1] and found[2]: bits of the largest error and of the largest bound.
__global__ void check_kernel(DistanceProblem p, const double* exact, DistanceBound bound, Word* found) {
  Word wrong = 0;
  double largest_error = 0.0, largest_bound = 0.0;
  for (std::int64_t at = thread_index(); at < static_cast<std::int64_t>(p.rows) * p.columns; at += thread_count()) {
    const double allowed = bound.at(exact[at], at / p.columns, at % p.columns);
    const double error = fabs(p.out[at] - exact[at]);
    wrong += !(error <= allowed);
    largest_error = fmax(largest_error, error);
    largest_bound = fmax(largest_bound, allowed);
  }
  wrong = warp_sum(wrong);
  const Word error_bits = warp_max(bits_of(largest_error)), bound_bits = warp_max(bits_of(largest_bound));
  if (lane_index() != 0) return;
  atomicAdd(found, wrong);
  atomicMax(found + 1, error_bits);
  atomicMax(found + 2, bound_bits);
}

/// The published times in milliseconds, for M = N = K: 16 x 16 threads of a Tesla C1060.
struct Published {
  int side;
  const char* rung[3];
};
constexpr Published kPublished[] = {
    {128, {"2.5 ms", "0.25 ms", "0.12 ms"}}, {256, {"29.47 ms", "1.27 ms", "0.51 ms"}},
    {512, {"350 ms", "9.15 ms", "4.3 ms"}},  {1024, {"1245 ms", "70 ms", "27 ms"}},
    {2048, {"6950 ms", "563 ms", "206 ms"}}, {4096, {"53557 ms", "4505 ms", "1647 ms"}},
};

std::string published_for(const DistanceProblem& p, int rung) {
  for (const Published& row : kPublished) {
    if (p.rows == row.side && p.depth == row.side && p.columns == row.side) return row.rung[rung];
  }
  return "";
}

/// One problem, its exact answer, and the rungs.
class DistanceRun {
 public:
  DistanceRun(Context& context, const BenchShape& shape, const BenchRequest& request, std::vector<Measurement>& found)
      : context_(context),
        ladder_(context, request, found),
        host_a_(uniform_values(shape.rows * shape.columns, 4)),
        host_b_(uniform_values(shape.columns * shape.counts[0], 5)),
        a_(to_device(context, host_a_)),
        b_(to_device(context, host_b_)),
        out_(context.pool, shape.rows * shape.counts[0]),
        exact_(context.pool, out_.size()),
        found_(context.pool, 3),
        problem_{static_cast<int>(shape.rows),
                 static_cast<int>(shape.columns),
                 static_cast<int>(shape.counts[0]),
                 a_.data(),
                 b_.data(),
                 out_.data()} {
    exact_kernel<<<small_grid(), dim3(kSide, kSide), 0, context.stream>>>(problem_, exact_.data());
    check(cudaGetLastError());
  }

  void climb() {
    const Stream& stream = context_.stream;
    const dim3 threads(kSide, kSide);
    const auto depth = static_cast<double>(problem_.depth);
    // A rounding for each term, and two for its difference.
    const DistanceBound differences{.relative = (depth + 4) * 1.01 * 0x1p-24};
    rung("1 a thread per element", 0, differences,
         [&] { element_kernel<<<small_grid(), threads, 0, stream>>>(problem_); });
    rung("2 tiles of 16 x 16", 1, differences,
         [&] { tile_kernel<true><<<small_grid(), threads, 0, stream>>>(problem_); });
    rung("3 no bank conflicts", 2, differences,
         [&] { tile_kernel<false><<<small_grid(), threads, 0, stream>>>(problem_); });
    const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
    rung("4 8 x 8 in registers", -1, differences,
         [&] { register_kernel<<<tiles, kBlock, 0, stream>>>(problem_, Differences{}); });

    const ProductOperands operands(context_, problem_);
    rung("5 by float32 products", -1, operands.float_bound(), [&] { operands.by_float_products(); });
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context_.device));
    if (major < 8) {
      for (const char* name : {"6 tensor cores, float16", "7 tensor cores, float16 twice"}) {
        ladder_.leave_out({.name = name, .missing = "needs compute capability 8.0"});
      }
      return;
    }
    rung("6 tensor cores, float16", -1, operands.half_bound(), [&] { operands.by_halves(); });
    rung("7 tensor cores, float16 twice", -1, operands.split_bound(), [&] { operands.by_split_halves(); });
  }

 private:
  dim3 small_grid() const { return dim3(problem_.columns / kSide, problem_.rows / kSide); }

  /// published: the column of the text, -1 where it has none.
  void rung(const char* name, int published, const DistanceBound& bound, const std::function<void()>& launch) {
    const bool on_tensor_cores = name[0] >= '6';
    context_.stream.fill(out_.data(), 0xFF, out_.size());  // not a number
    std::string note;
    ladder_.climb(
        {.name = name,
         .shape = joined(problem_.rows, " x ", problem_.depth, ", ", problem_.columns),
         .work = 2.0 * problem_.rows * problem_.depth * static_cast<double>(problem_.columns),
         .unit = WorkUnit::flops,
         .limit = on_tensor_cores ? kFp16Limit : kFloatLimit,
         .published = published >= 0 ? published_for(problem_, published) : ""},
        [&](std::int64_t) { launch(); }, [&] { return check_answer(bound, note); });
    ladder_.last().note = note;
  }

  /// Every element within its bound of float64; float64 beside the definition on a sample.
  std::string check_answer(const DistanceBound& bound, std::string& note) const {
    const Stream& stream = context_.stream;
    Word found[3] = {};
    stream.fill(found_.data(), 0, 3);
    check_kernel<<<context_.grid(out_.size(), kBlock), kBlock, 0, stream>>>(problem_, exact_.data(), bound,
                                                                            found_.data());
    check(cudaGetLastError());
    stream.download(found, found_.data(), 3);
    note = joined("error at most ", std::bit_cast<double>(found[1]), ", bound ", std::bit_cast<double>(found[2]));
    if (found[0] > 0) return joined(found[0], " elements are beyond their bound; ", note);
    return compare_exact();
  }

  std::string compare_exact() const {
    constexpr int kSample = 64;
    std::vector<float> column(static_cast<std::size_t>(problem_.depth));
    for (int i = 0; i < kSample; ++i) {
      const std::int64_t row = std::int64_t{i} * problem_.rows / kSample;
      const std::int64_t other = std::int64_t{kSample - 1 - i} * problem_.columns / kSample;
      for (int j = 0; j < problem_.depth; ++j) column[j] = host_b_[std::int64_t{j} * problem_.columns + other];
      const double expected = squared_distance(&host_a_[row * problem_.depth], column.data(), problem_.depth);
      double found = 0.0;
      context_.stream.download(&found, exact_.data() + row * problem_.columns + other, 1);
      if (std::abs(found - expected) <= 1e-12 * expected) continue;
      return joined("row ", row, ", column ", other, ": expected ", expected, ", found ", found, " in float64");
    }
    return "";
  }

  Context& context_;
  Ladder ladder_;
  std::vector<float> host_a_, host_b_;
  Buffer<float> a_, b_, out_;
  Buffer<double> exact_;
  Buffer<Word> found_;
  DistanceProblem problem_;
};

}  // namespace

std::vector<Measurement> climb_distances(const BenchRequest& request) {
  std::vector<BenchShape> shapes = request.shapes;
  if (shapes.empty()) shapes = {{1024, 1024, {1024}}, {4096, 4096, {4096}}};
  for (const BenchShape& shape : shapes) {
    for (const std::int64_t size : {shape.rows, shape.columns, shape.counts[0]}) {
      if (size % kDistanceTile == 0 && size <= 65536) continue;
      throw Error(ExitCode::usage, joined("--shape ", shape.rows, "x", shape.columns, ",", shape.counts[0],
                                          ": expected MxN,K, each a multiple of ", kDistanceTile, " up to 65536"));
    }
  }
  Context context(request.backend);
  std::vector<Measurement> found;
  for (const BenchShape& shape : shapes) DistanceRun(context, shape, request, found).climb();
  return found;
}

}  // namespace kith::cuda
