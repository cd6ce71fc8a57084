// The half-precision screen: the first look at every row, and the second at those it leaves undecided.
//
// Beside the product (device/half_product.h, device/mma_product.h) a score costs an addition, a packing of its column
// into its last five bits, and 2.5 minima or maxima. The second look multiplies the undecided rows again, gathered, and
// lists every column within their limits; it costs their share of the first.
#include "kernels/cuda/half_screen.h"

#include <climits>
#include <cmath>

#include "kernels/cuda/device/half_launch.h"

namespace kith::cuda {

constexpr int kPackedBits = 5;  // of a score that hold its column among a thread's 32
constexpr int kScoreMask = ~((1 << kPackedBits) - 1);

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

/// Column of the tile that a thread's score number i (of 32) belongs to.
__device__ int column_of(int i) { return i / 2 * 8 + static_cast<int>(threadIdx.x) % 4 * 2 + i % 2; }

/// Epilogue of the first pass: decides rows, lists the others with the limit of their candidates.
/// take<H> sees the scores of half H of a consumer's rows: rows lane / 4 and lane / 4 + 8 of the warp, 32 columns each.
class KeepTwo {
 public:
  struct Arguments {
    const float* norm;      // (rows)
    const float* residual;  // (rows)
    ScreenMargin margin;
    float per_residual;
    int score_mask;  // kScoreMask, in a register: with a constant each packing would take two instructions
    std::int32_t* nearest;
    Undecided undecided;
  };

  __device__ KeepTwo(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t) {
#pragma unroll
    for (int r = 0; r < 4; ++r) kept_[r] = PackedTwo{};
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    const int mask = arguments_.score_mask;
    const int before[2] = {kept_[2 * kHalf].best, kept_[2 * kHalf + 1].best};
#pragma unroll
    for (int p = 0; p < 16; ++p) {
      const float2 base = __ldg(reinterpret_cast<const float2*>(score_base + p * 8));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int a = __float_as_int(__fsub_rn(base.x, product[4 * p + 2 * r]));
        const int b = __float_as_int(__fsub_rn(base.y, product[4 * p + 2 * r + 1]));
        kept_[2 * kHalf + r].take((a & mask) | (2 * p), (b & mask) | (2 * p + 1));
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      PackedTwo& kept = kept_[2 * kHalf + r];
      kept.tile = kept.best != before[r] ? tile : kept.tile;
    }
  }

  /// row: of the first score.
  __device__ void finish(std::int64_t row) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) decide(kept_[r], row + r / 2 * 64 + r % 2 * 8);
  }

 private:
  /// Joins the four threads that share a row, and decides it.
  __device__ void decide(PackedTwo found, std::int64_t row) const {
    int column = static_cast<int>(found.tile) * kHalfColumns + column_of(found.best & ~kScoreMask);
#pragma unroll
    for (int w = 1; w <= 2; w *= 2) {
      const int best = __shfl_xor_sync(kAllLanes, found.best, w), second = __shfl_xor_sync(kAllLanes, found.second, w);
      const int other = __shfl_xor_sync(kAllLanes, column, w);
      found.second = __vimin3_s32(found.second, second, max(found.best, best));
      column = best < found.best ? other : column;
      found.best = min(found.best, best);
    }
    if (threadIdx.x % 4 != 0 || row >= rows_) return;
    const float best = __int_as_float(found.best & kScoreMask), second = __int_as_float(found.second & kScoreMask);
    const float margin = __fadd_ru(arguments_.margin.at(arguments_.norm[row]),
                                   __fmul_ru(arguments_.per_residual, arguments_.residual[row]));
    if (__fsub_rd(second, best) > margin) {
      arguments_.nearest[row] = column;
      return;
    }
    const Word place = atomicAdd(arguments_.undecided.count, Word{1});
    arguments_.undecided.row[place] = static_cast<std::int32_t>(row);
    arguments_.undecided.limit[place] = __fadd_ru(best, margin);
  }

  const Arguments& arguments_;
  std::int64_t rows_;
  PackedTwo kept_[4];
};

/// Epilogue of the second pass: lists every column whose score is within its row's limit.
class WithinLimit {
 public:
  struct Arguments {
    const float* limit;  // (rows)
    Candidate* list;
    std::int64_t capacity;
    Word* count;
  };

  __device__ WithinLimit(const Arguments& arguments, std::int64_t rows) : arguments_(arguments), rows_(rows) {}

  __device__ void begin(std::int64_t row) {
    constexpr float kNone = -1.0F;  // scores are positive
    row_ = row;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const std::int64_t at = row + r / 2 * 64 + r % 2 * 8;
      limit_[r] = at < rows_ ? arguments_.limit[at] : kNone;
    }
  }

  template <int kHalf>
  __device__ void take(const float (&product)[64], const float* score_base, unsigned tile) {
    unsigned within[2] = {0, 0};
#pragma unroll
    for (int p = 0; p < 16; ++p) {
      const float2 base = __ldg(reinterpret_cast<const float2*>(score_base + p * 8));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float limit = limit_[2 * kHalf + r];
        // Written so that a NaN is within. Columns that do not exist score 10^37, above every limit.
        if (!(__fsub_rn(base.x, product[4 * p + 2 * r]) > limit)) within[r] |= 1U << (2 * p);
        if (!(__fsub_rn(base.y, product[4 * p + 2 * r + 1]) > limit)) within[r] |= 2U << (2 * p);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      for (unsigned bits = within[r]; bits != 0; bits &= bits - 1) {
        const Word at = atomicAdd(arguments_.count, Word{1});
        if (at >= static_cast<Word>(arguments_.capacity)) continue;
        arguments_.list[at] = {
            static_cast<std::int32_t>(row_ + kHalf * 64 + r * 8),
            static_cast<std::int32_t>(tile) * kHalfColumns + column_of(__ffs(static_cast<int>(bits)) - 1)};
      }
    }
  }

  __device__ void finish(std::int64_t) const {}

 private:
  const Arguments& arguments_;
  std::int64_t rows_;
  std::int64_t row_ = 0;
  float limit_[4] = {};
};

namespace {

/// Pieces of chosen rows: row i of `to` is row chosen[i] of `from`; rows count .. padded - 1 are zero.
__global__ void gather_kernel(const uint4* from, const std::int32_t* chosen, std::int64_t count, std::int64_t padded,
                              std::int64_t pieces, uint4* to) {
  constexpr int kUnits = kPieceColumns / 8;  // of a row of a piece
  for (std::int64_t i = thread_index(); i < padded * pieces * kUnits; i += thread_count()) {
    const std::int64_t row = i / (pieces * kUnits), piece = i / kUnits % pieces, unit = i % kUnits;
    const auto place = [&](std::int64_t r) {
      return ((r / kPieceRows * pieces + piece) * kPieceRows + r % kPieceRows) * kUnits + (unit ^ (r % 8));
    };
    to[place(row)] = row < count ? from[place(chosen[row])] : uint4{};
  }
}

__global__ void score_base_kernel(const float* half_norm, std::int64_t count, std::int64_t padded, float bias,
                                  float* out) {
  constexpr float kNever = 1e37F;  // a column that does not exist
  constexpr float kUnit = 1 << 2 * kHalfShift;
  for (std::int64_t c = thread_index(); c < padded; c += thread_count()) {
    out[c] = c < count ? __fadd_rn(half_norm[c] * kUnit, bias) : kNever;
  }
}

}  // namespace

bool device_multiplies_halves(ScreenPath path, int device) { return device_has_product<KeepTwo>(path, device); }

template <class T>
HalfColumns half_columns(const HeldRows<T>& held, const double* centroids, const float* half_norm, std::int64_t count) {
  const std::int64_t d = held.columns(), padded = row_groups_of(count) * kHalfColumns;
  HalfColumns columns;
  columns.rows = room_for_halves(held.pool(), count, d);
  columns.score_base = Buffer<float>(held.pool(), padded);
  columns.count = count;
  columns.left_row = Buffer<std::int32_t>(held.pool(), held.largest_block());
  columns.left_limit = Buffer<float>(held.pool(), held.largest_block());
  columns.left_count = Buffer<Word>(held.pool(), 1);
  const std::int64_t batch = row_groups_of(std::min(held.largest_block(), HalfColumns::kBatch)) * pieces_of(d);
  columns.gathered = Buffer<uint4>(held.pool(), batch * (kPieceBytes / 16));
  make_halves(held, centroids, count, columns.rows);

  ScreenedRows measured;
  measured.largest_norm = columns.rows.largest.norm;
  measured.largest_residual = columns.rows.largest.residual;
  columns.margin = screen_margin(measured, d, half_exponent(held.plan.screen), {0.0, tensor_accumulation(d)});
  // Scores are made positive, so that they order as integers; the bias covers products that are off by this much.
  constexpr double kMostAccumulation = 0.01;
  const LargestNorms& points = held.half.largest;
  const double bias =
      1.02 * (points.norm + points.residual) * (measured.largest_norm + measured.largest_residual) + 0x1p-60;
  const double largest_score = measured.largest_norm * measured.largest_norm / 2 + 2 * bias;
  // Two scores, each short of its last bits and rounded twice.
  columns.margin.constant += static_cast<float>(2.01 * largest_score * (std::ldexp(1.0, kPackedBits - 23) + 0x1p-22));
  columns.per_residual = static_cast<float>(2.01 * measured.largest_norm);
  columns.usable =
      std::isfinite(columns.margin.constant) && largest_score < 1e30 && tensor_accumulation(d) < kMostAccumulation;
  if (!columns.usable) return columns;
  score_base_kernel<<<held.context->grid(padded, kBlock), kBlock, 0, held.stream()>>>(
      half_norm, count, padded, static_cast<float>(bias), columns.score_base.data());
  check(cudaGetLastError());
  return columns;
}

namespace {

template <class T>
HalfProblem problem(const HeldRows<T>& held, const HalfColumns& columns, const uint4* points, std::int64_t rows) {
  return {points, rows, columns.rows.values.data(), columns.count, columns.score_base.data(), held.columns()};
}

template <class T>
const uint4* pieces_at(const HeldRows<T>& held, std::int64_t first) {
  return held.half.values.data() + first / kPieceRows * pieces_of(held.columns()) * (kPieceBytes / 16);
}

}  // namespace

template <class T>
std::int64_t screen_halves(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                           std::int32_t* nearest) {
  const Undecided undecided = columns.undecided();
  held.stream().fill(undecided.count, 0, 1);
  launch_product<KeepTwo>(*held.context, problem(held, columns, pieces_at(held, block.first), block.rows),
                          {held.half.norm.data() + block.first, held.half.residual.data() + block.first, columns.margin,
                           columns.per_residual, kScoreMask, nearest, undecided});
  Word left = 0;
  held.stream().download(&left, undecided.count, 1);
  return static_cast<std::int64_t>(left);
}

template <class T>
void collect_half_candidates(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                             const RecheckRoom& room, std::int64_t first, std::int64_t count) {
  const Undecided undecided = columns.undecided();
  const std::int64_t padded = row_groups_of(count) * kPieceRows, pieces = pieces_of(held.columns());
  gather_kernel<<<held.context->grid(padded * pieces, kBlock / 8), kBlock, 0, held.stream()>>>(
      pieces_at(held, block.first), undecided.row + first, count, padded, pieces, columns.gathered.data());
  check(cudaGetLastError());
  launch_product<WithinLimit>(*held.context, problem(held, columns, columns.gathered.data(), count),
                              {undecided.limit + first, room.candidates(), room.capacity(), room.candidate_count()});
}

#define KITH_INSTANTIATE(T)                                                                                          \
  template HalfColumns half_columns(const HeldRows<T>&, const double*, const float*, std::int64_t);                  \
  template std::int64_t screen_halves(const HeldRows<T>&, const HalfColumns&, const Block<T>&, std::int32_t*);       \
  template void collect_half_candidates(const HeldRows<T>&, const HalfColumns&, const Block<T>&, const RecheckRoom&, \
                                        std::int64_t, std::int64_t);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
