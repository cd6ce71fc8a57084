// The half-precision screen: points against centroids on the tensor cores, fused with the search for the two smallest
// scores of every row.
//
// A block is one producer warp, which only copies, and two warpgroups of consumers, each with 128 points of its own.
// Centroids stream through a ring of pieces (64 columns deep); points stay in shared memory while all centroids pass,
// two sets of them in turn where there is room, or travel with the centroids when they are too wide. A consumer
// multiplies 128 x 128 scores in its registers, then looks at them while the other consumer multiplies.
//
// Cost: 2 n k d operations, 0.27 ms for 10^6 x 128 against 1024 at 989 TFLOP/s (H100/H200 float16); what is spent per
// score beside the product counts as much: an addition, a packing of the column into the last five bits, and 2.5 minima
// or maxima. The scheme of producer and consumers is that of CUTLASS's warp-specialised kernels; keeping the argmin in
// the epilogue is FlashAttention's idea, and flash-kmeans's for this problem.
#include "kernels/cuda/half_screen.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "kernels/cuda/device/hopper.h"

namespace kith::cuda {
namespace {

constexpr int kConsumers = 2;       // warpgroups
constexpr int kGroupThreads = 128;  // of a warpgroup
constexpr int kThreads = (kConsumers + 1) * kGroupThreads;
constexpr int kBlockRows = kConsumers * kPieceRows;
constexpr int kColumns = 128;  // centroids of a tile
constexpr int kMostStages = 8;
constexpr int kSharedBytes = 227 * 1024;
constexpr int kBarrierBytes = 1024;  // and the pieces start at a multiple of 1024 bytes
constexpr int kPackedBits = 5;       // of a score that hold its column among a thread's 32
constexpr int kScoreMask = ~((1 << kPackedBits) - 1);
static_assert(kPieceRows == kColumns, "points and centroids are cut into the same pieces");

/// How shared memory is used.
struct RingShape {
  int pieces = 1;      // of a row
  int point_sets = 1;  // points that stay: 1 or 2 sets; 0: they travel with the centroids
  int stages = 1;      // of the ring
  __host__ __device__ int stage_bytes() const { return point_sets > 0 ? kPieceBytes : (1 + kConsumers) * kPieceBytes; }
  __host__ __device__ int set_bytes() const { return kConsumers * pieces * kPieceBytes; }
  int shared_bytes() const { return kBarrierBytes + point_sets * set_bytes() + stages * stage_bytes(); }
};

RingShape ring_shape(std::int64_t d) {
  RingShape shape;
  shape.pieces = static_cast<int>(pieces_of(d));
  const int room = (kSharedBytes - kBarrierBytes) / kPieceBytes;
  constexpr int kLeastStages = 4;
  shape.point_sets = std::min(2, (room - kLeastStages) / (kConsumers * std::min(shape.pieces, 1000)));
  const int left = room - shape.point_sets * kConsumers * (shape.point_sets > 0 ? shape.pieces : 0);
  shape.stages = std::min(kMostStages, shape.point_sets > 0 ? left : left / (1 + kConsumers));
  return shape;
}

struct HalfArguments {
  const uint4* points;   // pieces from the first row of the block on
  const uint4* columns;  // pieces of the centroids
  const float* score_base;
  std::int64_t rows;
  unsigned row_tiles, column_tiles;
  const float* norm;      // (rows)
  const float* residual;  // (rows)
  ScreenMargin margin;
  float per_residual;
  int score_mask;  // kScoreMask, in a register: with a constant each packing would take two instructions
  std::int32_t* nearest;
  std::int32_t* undecided;
  Word* count;
  RingShape shape;
};

#ifdef KITH_HOPPER

/// A place in a ring and the parity of its present round.
struct RingPlace {
  int stage = 0;
  unsigned parity = 0;
  __device__ void next(int stages) {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

/// Addresses in shared memory.
struct Layout {
  std::uint32_t base;
  RingShape shape;
  __device__ std::uint32_t full(int stage) const { return base + stage * 16; }
  __device__ std::uint32_t empty(int stage) const { return base + stage * 16 + 8; }
  __device__ std::uint32_t points_full(int set) const { return base + (kMostStages + set) * 16; }
  __device__ std::uint32_t points_empty(int set) const { return base + (kMostStages + set) * 16 + 8; }
  __device__ std::uint32_t points(int set, int consumer, int piece) const {
    return base + kBarrierBytes + set * shape.set_bytes() + (consumer * shape.pieces + piece) * kPieceBytes;
  }
  __device__ std::uint32_t stage(int stage) const {
    return base + kBarrierBytes + shape.point_sets * shape.set_bytes() + stage * shape.stage_bytes();
  }
  /// Points that travel in a stage, behind its centroids.
  __device__ std::uint32_t stage_points(int stage_index, int consumer) const {
    return stage(stage_index) + (1 + consumer) * kPieceBytes;
  }
};

__device__ const uint4* piece_of(const uint4* pieces, std::int64_t group, int piece, const RingShape& shape) {
  return pieces + (group * shape.pieces + piece) * (kPieceBytes / 16);
}

/// The producer: one thread that keeps the ring full.
__device__ void produce(const HalfArguments& arguments, const Layout& layout) {
  const RingShape& shape = arguments.shape;
  RingPlace ring, set;
  for (unsigned row_tile = blockIdx.x; row_tile < arguments.row_tiles; row_tile += gridDim.x) {
    const std::int64_t group = static_cast<std::int64_t>(row_tile) * kConsumers;
    if (shape.point_sets > 0) {
      barrier_wait(layout.points_empty(set.stage), set.parity ^ 1U);
      barrier_expect(layout.points_full(set.stage), shape.set_bytes());
      bulk_copy(layout.points(set.stage, 0, 0), piece_of(arguments.points, group, 0, shape), shape.set_bytes(),
                layout.points_full(set.stage));
      set.next(shape.point_sets);
    }
    for (unsigned tile = 0; tile < arguments.column_tiles; ++tile) {
      for (int piece = 0; piece < shape.pieces; ++piece) {
        barrier_wait(layout.empty(ring.stage), ring.parity ^ 1U);
        barrier_expect(layout.full(ring.stage), shape.stage_bytes());
        bulk_copy(layout.stage(ring.stage), piece_of(arguments.columns, tile, piece, shape), kPieceBytes,
                  layout.full(ring.stage));
        if (shape.point_sets == 0) {
          for (int consumer = 0; consumer < kConsumers; ++consumer) {
            bulk_copy(layout.stage_points(ring.stage, consumer),
                      piece_of(arguments.points, group + consumer, piece, shape), kPieceBytes, layout.full(ring.stage));
          }
        }
        ring.next(shape.stages);
      }
    }
  }
}

/// The two smallest scores of a row among the columns that a thread sees, as integers (positive floats order alike),
/// the column's number packed into the last bits; and the tile of the smallest.
struct PackedTwo {
  int best = INT_MAX, second = INT_MAX;
  unsigned tile = 0;

  __device__ void take(int a, int b) {
    const int low = min(a, b), high = max(a, b);
    second = __vimin3_s32(second, max(best, low), high);
    best = min(best, low);
  }
};

/// Scores of half a consumer's rows (64): rows lane / 4 and lane / 4 + 8 of the warp, 32 columns of the tile each.
__device__ void look(const float (&product)[64], const float* score_base, unsigned tile, int mask,
                     PackedTwo (&rows)[2]) {
  const int before[2] = {rows[0].best, rows[1].best};
#pragma unroll
  for (int p = 0; p < 16; ++p) {
    const float2 base = __ldg(reinterpret_cast<const float2*>(score_base + p * 8));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int a = __float_as_int(__fsub_rn(base.x, product[4 * p + 2 * r]));
      const int b = __float_as_int(__fsub_rn(base.y, product[4 * p + 2 * r + 1]));
      rows[r].take((a & mask) | (2 * p), (b & mask) | (2 * p + 1));
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) rows[r].tile = rows[r].best != before[r] ? tile : rows[r].tile;
}

/// Joins the four threads that share a row, and decides it.
__device__ void decide(const HalfArguments& arguments, PackedTwo found, std::int64_t row) {
  const int quarter = static_cast<int>(threadIdx.x) & 3, packed = found.best & ~kScoreMask;
  int column = static_cast<int>(found.tile) * kColumns + packed / 2 * 8 + quarter * 2 + packed % 2;
#pragma unroll
  for (int w = 1; w <= 2; w *= 2) {
    const int best = __shfl_xor_sync(0xFFFFFFFFU, found.best, w),
              second = __shfl_xor_sync(0xFFFFFFFFU, found.second, w);
    const int other = __shfl_xor_sync(0xFFFFFFFFU, column, w);
    found.second = __vimin3_s32(found.second, second, max(found.best, best));
    column = best < found.best ? other : column;
    found.best = min(found.best, best);
  }
  if (quarter != 0 || row >= arguments.rows) return;
  const float best = __int_as_float(found.best & kScoreMask), second = __int_as_float(found.second & kScoreMask);
  const float margin =
      __fadd_ru(arguments.margin.at(arguments.norm[row]), __fmul_ru(arguments.per_residual, arguments.residual[row]));
  if (__fsub_rd(second, best) > margin) {
    arguments.nearest[row] = column;
  } else {
    arguments.undecided[atomicAdd(arguments.count, Word{1})] = static_cast<std::int32_t>(row);
  }
}

/// A consumer: multiplies its 128 points with every tile of centroids, and looks at the scores of each.
__device__ void consume(const HalfArguments& arguments, const Layout& layout, int consumer) {
  const RingShape& shape = arguments.shape;
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads, lane = thread % kWarp, warp = thread / kWarp;
  RingPlace ring, set;
  float upper_product[64] = {}, lower_product[64] = {};
  for (unsigned row_tile = blockIdx.x; row_tile < arguments.row_tiles; row_tile += gridDim.x) {
    if (shape.point_sets > 0) barrier_wait(layout.points_full(set.stage), set.parity);
    PackedTwo upper[2], lower[2];
    for (unsigned tile = 0; tile < arguments.column_tiles; ++tile) {
      int held_stage = -1;
      for (int piece = 0; piece < shape.pieces; ++piece) {
        barrier_wait(layout.full(ring.stage), ring.parity);
        const std::uint32_t rows = shape.point_sets > 0 ? layout.points(set.stage, consumer, piece)
                                                        : layout.stage_points(ring.stage, consumer);
        const std::uint64_t a = operand_descriptor(rows), b = operand_descriptor(layout.stage(ring.stage));
        constexpr int kLowerRows = kPieceBytes / 2 >> 4, kStep = 32 >> 4;  // in units of a descriptor's address
        constexpr int kSteps = kPieceColumns / 16;                         // products along a piece
        products_done(upper_product);
        products_done(lower_product);
        products_fence();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          multiply_64x128x16(upper_product, a + step * kStep, b + step * kStep, piece + step);
          multiply_64x128x16(lower_product, a + kLowerRows + step * kStep, b + step * kStep, piece + step);
        }
        products_commit();
        if (held_stage >= 0) {
          products_wait<1>();
          if (thread == 0) barrier_arrive(layout.empty(held_stage));
        }
        held_stage = ring.stage;
        ring.next(shape.stages);
      }
      products_wait<0>();
      products_done(upper_product);
      products_done(lower_product);
      if (thread == 0) {
        barrier_arrive(layout.empty(held_stage));
        if (shape.point_sets > 0 && tile + 1 == arguments.column_tiles) barrier_arrive(layout.points_empty(set.stage));
      }
      const float* base = arguments.score_base + static_cast<std::int64_t>(tile) * kColumns + lane % 4 * 2;
      look(upper_product, base, tile, arguments.score_mask, upper);
      look(lower_product, base, tile, arguments.score_mask, lower);
    }
    if (shape.point_sets > 0) set.next(shape.point_sets);
    const std::int64_t row =
        (static_cast<std::int64_t>(row_tile) * kConsumers + consumer) * kPieceRows + warp * 16 + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      decide(arguments, upper[r], row + r * 8);
      decide(arguments, lower[r], row + 64 + r * 8);
    }
  }
}

#endif

__global__ void __launch_bounds__(kThreads, 1) half_screen_kernel(const __grid_constant__ HalfArguments arguments) {
#ifdef KITH_HOPPER
  extern __shared__ __align__(1024) unsigned char shared[];
  const Layout layout{shared_address(shared), arguments.shape};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < arguments.shape.stages; ++stage) {
      barrier_init(layout.full(stage), 1);
      barrier_init(layout.empty(stage), kConsumers);
    }
    for (int set = 0; set < arguments.shape.point_sets; ++set) {
      barrier_init(layout.points_full(set), 1);
      barrier_init(layout.points_empty(set), kConsumers);
    }
    barrier_init_fence();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  if (group == kConsumers) {
    give_registers<24>();
    if (threadIdx.x % kGroupThreads == 0) produce(arguments, layout);
  } else {
    take_registers<240>();
    consume(arguments, layout, group);
  }
#endif
}

__global__ void score_base_kernel(const float* half_norm, std::int64_t count, std::int64_t padded, float bias,
                                  float* out) {
  constexpr float kNever = 1e37F;  // a column that does not exist
  constexpr float kUnit = 1 << 2 * kHalfShift;
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    out[c] = c < count ? __fadd_rn(half_norm[c] * kUnit, bias) : kNever;
  }
}

/// A(d) of core/screen.h. A step adds 16 products to the sum, aligned to the largest of the 17 and truncated there, at
/// no less than float32's precision: 17 x 2^-23 of the sum of magnitudes per step of 16.
double half_accumulation(std::int64_t d) { return (17.0 / 16.0 * static_cast<double>(d) + 32) * 0x1p-23; }

}  // namespace

bool device_multiplies_halves(int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major != 9 || minor != 0) return false;
  // Built for plain 9.0 the kernel is there, but empty.
  constexpr int kMoreThanEmpty = 64;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, half_screen_kernel));
  return attributes.numRegs > kMoreThanEmpty;
}

template <class T>
HalfColumns half_columns(const HeldRows<T>& held, const double* centroids, const float* half_norm, std::int64_t count) {
  const std::int64_t d = held.columns(), padded = row_groups_of(count) * kColumns;
  HalfColumns columns;
  columns.rows = room_for_halves(held.pool(), count, d);
  columns.score_base = Buffer<float>(held.pool(), padded);
  columns.count = count;
  make_halves(held, centroids, count, columns.rows);

  ScreenedRows measured;
  measured.largest_norm = columns.rows.largest.norm;
  measured.largest_residual = columns.rows.largest.residual;
  columns.margin = screen_margin(measured, d, half_exponent(held.plan.screen), {0.0, half_accumulation(d)});
  // Scores are made positive, so that they order as integers.
  const LargestNorms& points = held.half.largest;
  const double bias =
      1.02 * (points.norm + points.residual) * (measured.largest_norm + measured.largest_residual) + 0x1p-60;
  const double largest_score = measured.largest_norm * measured.largest_norm / 2 + 2 * bias;
  // Two scores, each short of its last bits and rounded twice.
  columns.margin.constant += static_cast<float>(2.01 * largest_score * (std::ldexp(1.0, kPackedBits - 23) + 0x1p-22));
  columns.per_residual = static_cast<float>(2.01 * measured.largest_norm);
  columns.usable = std::isfinite(columns.margin.constant) && largest_score < 1e30;
  if (!columns.usable) return columns;
  score_base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      half_norm, count, padded, static_cast<float>(bias), columns.score_base.data());
  check(cudaGetLastError());
  return columns;
}

template <class T>
std::int64_t screen_halves(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                           std::int32_t* nearest, std::int32_t* undecided, Word* count) {
  const std::int64_t rows = block.rows, first = block.first;
  held.stream().fill(count, 0, 1);
  const RingShape shape = ring_shape(held.columns());
  const auto row_tiles = static_cast<unsigned>((rows + kBlockRows - 1) / kBlockRows);
  const HalfArguments arguments{held.half.values.data() + first / kPieceRows * shape.pieces * (kPieceBytes / 16),
                                columns.rows.values.data(),
                                columns.score_base.data(),
                                rows,
                                row_tiles,
                                static_cast<unsigned>((columns.count + kColumns - 1) / kColumns),
                                held.half.norm.data() + first,
                                held.half.residual.data() + first,
                                columns.margin,
                                columns.per_residual,
                                kScoreMask,
                                nearest,
                                undecided,
                                count,
                                shape};
  check(cudaFuncSetAttribute(half_screen_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes()));
  const unsigned blocks = std::min(row_tiles, static_cast<unsigned>(held.context->multiprocessors));
  half_screen_kernel<<<blocks, kThreads, shape.shared_bytes(), held.stream()>>>(arguments);
  check(cudaGetLastError());
  Word left = 0;
  held.stream().download(&left, count, 1);
  return static_cast<std::int64_t>(left);
}

template HalfColumns half_columns(const HeldRows<float>&, const double*, const float*, std::int64_t);
template HalfColumns half_columns(const HeldRows<double>&, const double*, const float*, std::int64_t);
template std::int64_t screen_halves(const HeldRows<float>&, const HalfColumns&, const Block<float>&, std::int32_t*,
                                    std::int32_t*, Word*);
template std::int64_t screen_halves(const HeldRows<double>&, const HalfColumns&, const Block<double>&, std::int32_t*,
                                    std::int32_t*, Word*);

}  // namespace kith::cuda
