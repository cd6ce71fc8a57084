// Ladder: squared distances of all rows of A (M x N) to all columns of B (N x K), in float32.
//
// Rungs 1 to 3 follow D. Grondzak et al., Accelerating vector calculations on GPU; `kith bench` prints its figures
// (Tesla C1060) as well. The rate counts 2 M N K operations; summing squared differences takes 3 M N K. The limit is
// the rate of float32 products, or of fp16 products for the tensor cores. Every element is compared with float64,
// within a stated bound.
#include "kernels/cuda/ladder/distances.h"

#include <bit>
#include <cmath>

#include "core/distance.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/register_tile.h"

namespace kith::cuda {
namespace {

constexpr int kSide = 16;  // rows, and columns, of the tiles in shared memory

/// sum + (a - b)^2
__device__ float add_square(float sum, float a, float b) {
  const float t = a - b;
  return fmaf(t, t, sum);
}

// 1: one thread per element, reading global memory only.
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

// 2 and 3: tiles of 16 x 16 in shared memory. In rung 2 the tile of B is stored transposed, and the threads of a warp
// read the same banks; in rung 3 neighbouring threads read neighbouring values.
template <bool kTransposed>
__global__ void tile_kernel(DistanceProblem p) {
  __shared__ float a[kSide][kSide], b[kSide][kSide];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSide + x;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kSide + y;
  float sum = 0.0F;
  for (int first = 0; first < p.depth; first += kSide) {
    a[y][x] = p.a[row * p.depth + first + x];
    (kTransposed ? b[x][y] : b[y][x]) = p.b[static_cast<std::int64_t>(first + y) * p.columns + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kSide; ++j) sum = add_square(sum, a[y][j], kTransposed ? b[x][j] : b[j][x]);
    __syncthreads();
  }
  p.out[row * p.columns + column] = sum;
}

// 4: 8 x 8 elements in the registers of each thread (register_tile.h).
struct Differences {
  __device__ float add(float sum, float a, float b) const { return add_square(sum, a, b); }
  __device__ float finish(float sum, std::int64_t, std::int64_t) const { return sum; }
};

/// The reference distances, in float64.
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

/// result[0]: elements beyond their bound; result[1] and result[2]: bits of the largest error and the largest bound.
__global__ void check_kernel(DistanceProblem p, const double* exact, DistanceBound bound, Word* result) {
  Word wrong = 0;
  double largest_error = 0.0, largest_bound = 0.0;
  for (std::int64_t i = thread_index(); i < static_cast<std::int64_t>(p.rows) * p.columns; i += thread_count()) {
    const double allowed = bound.at(exact[i], i / p.columns, i % p.columns);
    const double error = fabs(p.out[i] - exact[i]);
    wrong += !(error <= allowed);
    largest_error = fmax(largest_error, error);
    largest_bound = fmax(largest_bound, allowed);
  }
  wrong = warp_sum(wrong);
  const Word error_bits = warp_max(bits_of(largest_error)), bound_bits = warp_max(bits_of(largest_bound));
  if (lane_index() != 0) return;
  atomicAdd(result, wrong);
  atomicMax(result + 1, error_bits);
  atomicMax(result + 2, bound_bits);
}

constexpr const char* kFp16Rung = "6 tensor cores, float16";
constexpr const char* kSplitRung = "7 tensor cores, 3 x float16";

/// The published times for M = N = K on a Tesla C1060, with blocks of 16 x 16 threads.
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

/// One problem, its distances in float64, and the rungs.
class DistanceLadder {
 public:
  DistanceLadder(Context& context, const BenchShape& shape, const BenchRequest& request,
                 std::vector<Measurement>& measurements)
      : context_(context),
        ladder_(context, request, measurements),
        host_a_(uniform_values(shape.rows * shape.columns, 4)),
        host_b_(uniform_values(shape.columns * shape.counts[0], 5)),
        a_(to_device(context, host_a_)),
        b_(to_device(context, host_b_)),
        out_(context.pool, shape.rows * shape.counts[0]),
        exact_(context.pool, out_.size()),
        check_result_(context.pool, 3),
        problem_{static_cast<int>(shape.rows),
                 static_cast<int>(shape.columns),
                 static_cast<int>(shape.counts[0]),
                 a_.data(),
                 b_.data(),
                 out_.data()} {
    exact_kernel<<<small_grid(), dim3(kSide, kSide), 0, context.stream>>>(problem_, exact_.data());
    check(cudaGetLastError());
  }

  void run() {
    const Stream& stream = context_.stream;
    const dim3 threads(kSide, kSide);
    const auto depth = static_cast<double>(problem_.depth);
    // One rounding for each addition of a term, and two for the difference that is squared.
    const DistanceBound differences{.relative = (depth + 4) * 1.01 * 0x1p-24};
    rung("1 one thread per element", 0, differences,
         [&] { element_kernel<<<small_grid(), threads, 0, stream>>>(problem_); });
    rung("2 tiles of 16 x 16", 1, differences,
         [&] { tile_kernel<true><<<small_grid(), threads, 0, stream>>>(problem_); });
    rung("3 no bank conflicts", 2, differences,
         [&] { tile_kernel<false><<<small_grid(), threads, 0, stream>>>(problem_); });
    const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
    rung("4 8 x 8 in registers", -1, differences,
         [&] { register_kernel<<<tiles, kBlock, 0, stream>>>(problem_, Differences{}); });

    const ProductOperands operands(context_, problem_);
    rung("5 float32 products", -1, operands.float32_bound(), [&] { operands.by_float32_products(); });
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context_.device));
    if (major < 8) {
      for (const char* name : {kFp16Rung, kSplitRung}) {
        ladder_.skip({.name = name, .missing = "needs compute capability 8.0"});
      }
      return;
    }
    rung(kFp16Rung, -1, operands.fp16_bound(), [&] { operands.by_fp16_products(); });
    rung(kSplitRung, -1, operands.split_bound(), [&] { operands.by_split_products(); });
  }

 private:
  dim3 small_grid() const { return dim3(problem_.columns / kSide, problem_.rows / kSide); }

  /// published: the index of the rung in kPublished, or -1.
  void rung(const char* name, int published, const DistanceBound& bound, const std::function<void()>& launch) {
    const bool on_tensor_cores = name[0] >= '6';
    context_.stream.fill(out_.data(), 0xFF, out_.size());  // NaN
    std::string note;
    ladder_.run(
        {.name = name,
         .shape = concat(problem_.rows, " x ", problem_.depth, ", ", problem_.columns),
         .work = 2.0 * problem_.rows * problem_.depth * static_cast<double>(problem_.columns),
         .unit = WorkUnit::flops,
         .limit = on_tensor_cores ? kFp16Limit : kFloatLimit,
         .published = published >= 0 ? published_for(problem_, published) : ""},
        [&](std::int64_t) { launch(); }, [&] { return check_answer(bound, note); });
    ladder_.last().note = note;
  }

  /// Compares every element with float64, and a sample of the float64 values with core/distance.h. Returns an error
  /// message, or an empty string.
  std::string check_answer(const DistanceBound& bound, std::string& note) const {
    const Stream& stream = context_.stream;
    Word result[3] = {};
    stream.fill(check_result_.data(), 0, 3);
    check_kernel<<<context_.grid(out_.size(), kBlock), kBlock, 0, stream>>>(problem_, exact_.data(), bound,
                                                                            check_result_.data());
    check(cudaGetLastError());
    stream.download(result, check_result_.data(), 3);
    note = concat("largest error ", std::bit_cast<double>(result[1]), ", largest bound ",
                  std::bit_cast<double>(result[2]));
    if (result[0] > 0) return concat(result[0], " elements exceed their error bound; ", note);
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
      double result = 0.0;
      context_.stream.download(&result, exact_.data() + row * problem_.columns + other, 1);
      if (std::abs(result - expected) <= 1e-12 * expected) continue;
      return concat("row ", row, ", column ", other, ": expected ", expected, ", found ", result, " in float64");
    }
    return "";
  }

  Context& context_;
  Ladder ladder_;
  std::vector<float> host_a_, host_b_;
  Buffer<float> a_, b_, out_;
  Buffer<double> exact_;
  Buffer<Word> check_result_;
  DistanceProblem problem_;
};

}  // namespace

std::vector<Measurement> climb_distances(const BenchRequest& request) {
  std::vector<BenchShape> shapes = request.shapes;
  if (shapes.empty()) shapes = {{1024, 1024, {1024}}, {4096, 4096, {4096}}};
  for (const BenchShape& shape : shapes) {
    for (const std::int64_t size : {shape.rows, shape.columns, shape.counts[0]}) {
      if (size % kDistanceTile == 0 && size <= 65536) continue;
      throw Error(ExitCode::usage, concat("--shape ", shape.rows, "x", shape.columns, ",", shape.counts[0],
                                          ": expected MxN,K, each a multiple of ", kDistanceTile, " up to 65536"));
    }
  }
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const BenchShape& shape : shapes) DistanceLadder(context, shape, request, measurements).run();
  return measurements;
}

}  // namespace kith::cuda
