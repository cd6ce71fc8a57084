// Ladder: squared distances of all rows of A (M x N) to all columns of B (N x K), in float32 and in integers.
//
// Rungs 1 to 3 follow D. Grondzak et al., Accelerating vector calculations on GPU; `kith bench` prints its figures
// (Tesla C1060) as well. The rate counts 2 M N K operations; summing squared differences takes 3 M N K. The limit is
// the rate of float32 products, or of fp16 products for the tensor cores. Every element is compared with float64,
// within a stated bound.
#include "bench/ladders/cuda/distances.h"

#include <bit>
#include <cmath>

#include "bench/ladders/cuda/tiles.h"
#include "core/numbers/distance.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

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
        host_a_(cpu::uniform_values(shape.rows * shape.columns, 4)),
        host_b_(cpu::uniform_values(shape.columns * shape.counts[0], 5)),
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
    // The C1060 had no cache for rung 1.
    ladder_.last().note +=
        "; bank conflicts: a warp reads 16 words of the tile of B in two banks, in eight turns, where "
        "rung 1 reads neighbouring words from the L1 cache in one";
    rung("3 no bank conflicts", 2, differences,
         [&] { tile_kernel<false><<<small_grid(), threads, 0, stream>>>(problem_); });
    const dim3 tiles(problem_.columns / kDistanceTile, problem_.rows / kDistanceTile);
    rung("4 8 x 8 in registers", -1, differences,
         [&] { register_kernel<<<tiles, kBlock, 0, stream>>>(problem_, Differences<float>{}); });

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
         .shape = problem_.shape(),
         .work = problem_.operations(),
         .unit = WorkUnit::flops,
         .limit = on_tensor_cores ? kFp16Limit : kFloatLimit,
         .published = published >= 0 ? published_for(problem_, published) : ""},
        [&](std::int64_t) { launch(); }, [&] { return check_answer(bound, note); });
    ladder_.last().note = note;
  }

  /// Compares every element with float64, and a sample of the float64 values with core/numbers/distance.h. Returns an
  /// error message, or an empty string.
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
  const std::vector<BenchShape> shapes = cpu::distance_shapes(request, kDistanceTile);
  Context context(request.backend);
  std::vector<Measurement> measurements;
  for (const BenchShape& shape : shapes) {
    DistanceLadder(context, shape, request, measurements).run();
    climb_integer_distances(context, shape, request, measurements);
  }
  return measurements;
}

}  // namespace kith::cuda
