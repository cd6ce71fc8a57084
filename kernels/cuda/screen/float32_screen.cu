// Screens rows: values, norms, half squared norms and the largest norms. The device version of screen_rows() of core. A
// warp screens eight rows at a time. Reads the rows once and, for copies, writes float32 values. The floor for 10^6 x
// 128 float32 points on an H200 (4.8 TB/s) is 0.11 ms, once per data set.
//
// The screening pass: an epilogue of the tiled product keeps the best two scores of each row. It takes 2 n k d float32
// operations; device/tile.h states the floor.
#include "kernels/cuda/screen/float32_screen.h"

#include <cmath>

#include "kernels/cuda/device/definition.h"

namespace kith::cuda {
namespace {

/// Beyond this norm, products of rows may overflow float32. Such a row gets an infinite norm and is never certified.
constexpr float kLargestNorm = 0x1p60F;

struct ScreenOutput {
  float* values = nullptr;  // (rows, pitch); null: not requested
  std::int64_t pitch = 0;
  float* norm = nullptr;          // (rows)
  float* half_sq_norm = nullptr;  // (rows)
  Word* largest = nullptr;        // (2) bits of the largest |x'|^2 and |x' - x^|^2; null: not requested
};

constexpr int kTogether = 8;  // rows of a warp at a time, which share the additions across lanes

template <class T>
__global__ void __launch_bounds__(kBlock, 2) screen_kernel(const T* rows, std::int64_t count, std::int64_t d,
                                                           Arithmetic<T> scale, const float* center, ScreenOutput out) {
  constexpr int kLanesEach = kWarp / kTogether;
  double largest_norm = 0.0, largest_residual = 0.0;
  for (std::int64_t base = warp_index() * kTogether; base < count; base += warp_count() * kTogether) {
    const T* x[kTogether];
#pragma unroll
    for (int r = 0; r < kTogether; ++r) x[r] = rows + min(base + r, count - 1) * d;
    double exact[kTogether] = {}, rounded[kTogether] = {}, lost[kTogether] = {};  // squares of x', x^ and x' - x^
    for (std::int64_t j = lane_index(); j < d; j += kWarp) {
      const float at = center[j];
      T loaded[kTogether];
#pragma unroll
      for (int r = 0; r < kTogether; ++r) loaded[r] = x[r][j];
#pragma unroll
      for (int r = 0; r < kTogether; ++r) {
        const float value = screened(loaded[r], scale, at);
        const double wide = static_cast<double>(value);
        const double centred =
            __fma_rn(static_cast<double>(loaded[r]), static_cast<double>(scale), -static_cast<double>(at));
        const double residual = centred - wide;
        exact[r] = __fma_rn(centred, centred, exact[r]);
        rounded[r] = __fma_rn(wide, wide, rounded[r]);
        lost[r] = __fma_rn(residual, residual, lost[r]);
        if (out.values != nullptr && base + r < count) out.values[(base + r) * out.pitch + j] = value;
      }
    }
    // From here on, a lane has one row.
    double norm_squared = add_lanes<kTogether>(exact), lost_squared = add_lanes<kTogether>(lost);
    const double rounded_squared = add_lanes<kTogether>(rounded);
    const std::int64_t row = base + lane_index() / kLanesEach;
    // A value beyond float32 causes an infinity or a NaN; a maximum would ignore the NaN.
    if (!(lost_squared <= norm_squared)) norm_squared = lost_squared = std::numeric_limits<double>::infinity();
    largest_norm = norm_squared > largest_norm ? norm_squared : largest_norm;
    largest_residual = lost_squared > largest_residual ? lost_squared : largest_residual;
    if (lane_index() % kLanesEach == 0 && row < count) {
      const float norm = __double2float_ru(__dsqrt_ru(rounded_squared));
      out.norm[row] = norm < kLargestNorm ? norm : std::numeric_limits<float>::infinity();
      out.half_sq_norm[row] = static_cast<float>(norm_squared / 2);
    }
  }
  if (out.largest == nullptr) return;
  const Word norm_bits = warp_max(bits_of(largest_norm)), residual_bits = warp_max(bits_of(largest_residual));
  if (lane_index() != 0) return;
  atomicMax(&out.largest[0], norm_bits);
  atomicMax(&out.largest[1], residual_bits);
}

template <class T, class X>
void launch(const HeldRows<T>& held, const X* rows, std::int64_t count, const ScreenOutput& out) {
  const auto scale = static_cast<Arithmetic<X>>(power_of_two(-held.plan.screen.exponent));
  screen_kernel<<<held.context->grid(count, kBlockWarps * kTogether), kBlock, 0, held.stream()>>>(
      rows, count, held.columns(), scale, held.center.data(), out);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
ScreenedCopies allocate_screened(const HeldRows<T>& held, std::int64_t rows) {
  const std::int64_t pitch = padded_depth(held.columns());
  return {Buffer<float>(held.pool(), checked_product(rows, pitch, "screened rows")), Buffer<float>(held.pool(), rows),
          Buffer<float>(held.pool(), rows), static_cast<int>(pitch)};
}

template <class T>
void screen_copies(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out) {
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_sq_norm.data(), nullptr});
}

template <class T>
void screen_and_measure(const HeldRows<T>& held, const double* rows, std::int64_t count, ScreenedCopies& out,
                        Word* largest) {
  held.stream().fill(largest, 0, 2);
  held.stream().fill(out.values.data(), 0, count * out.pitch);
  launch(held, rows, count, {out.values.data(), out.pitch, out.norm.data(), out.half_sq_norm.data(), largest});
}

template <class T>
void screen_norms(const HeldRows<T>& held, const T* rows, std::int64_t count, float* norm, float* half_sq_norm,
                  Word* largest) {
  launch(held, rows, count, {nullptr, 0, norm, half_sq_norm, largest});
}

ScreenMargin tile_margin(LargestNorms largest, std::int64_t columns, int exponent) {
  return screen_margin(largest, columns, exponent, {0x1p-24, tile_accumulation(columns)});
}

namespace {

__global__ void margin_kernel(const Word* largest, std::int64_t columns, int exponent, ScreenArithmetic arithmetic,
                              ScreenMargin* margin) {
  const LargestNorms norms{sqrt(__longlong_as_double(static_cast<long long>(largest[0]))),
                           sqrt(__longlong_as_double(static_cast<long long>(largest[1])))};
  *margin = screen_margin(norms, columns, exponent, arithmetic);
}

}  // namespace

void queue_tile_margin(const Stream& stream, const Word* largest, std::int64_t columns, int exponent,
                       ScreenMargin* margin) {
  margin_kernel<<<1, 1, 0, stream>>>(largest, columns, exponent, {0x1p-24, tile_accumulation(columns)}, margin);
  check(cudaGetLastError());
}

namespace {

/// The smallest and second smallest score of a row, and the column of the smallest.
struct BestTwo {
  float best, second;
  std::int32_t column;

  __device__ static BestTwo none() {
    return {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(), 0};
  }
  /// A NaN makes the second best equal to the best, so the row is not certified.
  __device__ void take(float score, std::int32_t at) {
    second = fminf(second, fmaxf(score, best));
    column = score < best ? at : column;
    best = fminf(best, score);
  }
  __device__ void merge(const BestTwo& other) {
    second = fminf(fminf(second, other.second), fmaxf(best, other.best));
    column = other.best < best ? other.column : column;
    best = fminf(best, other.best);
  }
  __device__ BestTwo across(int w) const {
    BestTwo other;
    other.best = __shfl_xor_sync(kAllLanes, best, w);
    other.second = __shfl_xor_sync(kAllLanes, second, w);
    other.column = __shfl_xor_sync(kAllLanes, column, w);
    return other;
  }
};

/// Epilogue: decides rows, and appends ambiguous rows with the limit of their candidates. Between tiles the best two of
/// each row and thread are in shared memory, since the products fill the registers.
class Nearest {
 public:
  struct Arguments {
    const float* half_sq_norm;  // (k)
    std::int64_t clusters;
    std::int64_t rows;
    const std::int32_t* chosen;  // positions of the rows in the block; null: all
    const float* norm;           // (rows of the block) |x^|
    const ScreenMargin* margin;
    std::int32_t* nearest;    // (rows of the block) out
    AmbiguousRows ambiguous;  // out
  };
  struct Shared {
    float best[8][kTileThreads];
    float second[8][kTileThreads];
    std::int32_t column[8][kTileThreads];
    BestTwo upper_columns[kTileRows];  // from the warp that has the upper columns of the same rows
  };

  __device__ Nearest(const Arguments& arguments, Shared& shared, const TilePlace& place, std::int64_t first_row)
      : arguments_(arguments), shared_(shared), place_(place), first_row_(first_row) {
    for (int i = 0; i < 8; ++i) keep(i, BestTwo::none());
  }

  __device__ void take(const float (&product)[8][8], std::int64_t first_column) {
    float half_sq_norm[8];
    load_half_sq_norms(arguments_.half_sq_norm, arguments_.clusters, first_column, place_, half_sq_norm);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      BestTwo row = kept(i);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        row.take(__fsub_rn(half_sq_norm[j], product[i][j]), static_cast<std::int32_t>(first_column) + place_.column(j));
      }
      keep(i, row);
    }
  }

  __device__ void finish() {
    const bool has_upper_columns = place_.column0 >= kWarpColumns;
    for (int i = 0; i < 8; ++i) {
      BestTwo row = kept(i);
#pragma unroll
      for (int w = 2; w <= 8; w *= 2) row.merge(row.across(w));
      keep(i, row);
      if (has_upper_columns && place_.first_of_row()) shared_.upper_columns[place_.row(i)] = row;
    }
    __syncthreads();
    if (has_upper_columns || !place_.first_of_row()) return;
    for (int i = 0; i < 8; ++i) {
      BestTwo result = kept(i);
      result.merge(shared_.upper_columns[place_.row(i)]);
      const std::int64_t row = first_row_ + place_.row(i);
      if (row < arguments_.rows) decide(arguments_.chosen != nullptr ? arguments_.chosen[row] : row, result);
    }
  }

 private:
  __device__ BestTwo kept(int i) const {
    return {shared_.best[i][threadIdx.x], shared_.second[i][threadIdx.x], shared_.column[i][threadIdx.x]};
  }
  __device__ void keep(int i, const BestTwo& row) {
    shared_.best[i][threadIdx.x] = row.best;
    shared_.second[i][threadIdx.x] = row.second;
    shared_.column[i][threadIdx.x] = row.column;
  }
  __device__ void decide(std::int64_t row, const BestTwo& result) const {
    arguments_.nearest[row] = result.column;
    const float margin = arguments_.margin->at(arguments_.norm[row]);
    if (__fsub_rd(result.second, result.best) > margin) return;
    const Word place = atomicAdd(arguments_.ambiguous.count, Word{1});
    arguments_.ambiguous.row[place] = static_cast<std::int32_t>(row);
    arguments_.ambiguous.limit[place] = __fadd_ru(result.best, margin);
  }

  const Arguments& arguments_;
  Shared& shared_;
  const TilePlace& place_;
  std::int64_t first_row_;
};

}  // namespace

template <class T>
void screen_float32(const HeldRows<T>& held, const Float32Screen& screen, PointOperand<T> rows, const RowChoice& which,
                    const float* norm, std::int32_t* nearest, const AmbiguousRows& ambiguous) {
  rows.chosen = which.chosen;
  rows.rows = which.count;
  const ScreenedOperand columns = screen.columns();
  const TileGrid tiles = tile_grid(which.count, columns.rows, 1);
  tile_kernel<PointOperand<T>, ScreenedOperand, Nearest><<<tiles.blocks(), kTileThreads, 0, held.stream()>>>(
      rows, columns, rows.d, tiles,
      {screen.half_sq_norm(), columns.rows, which.count, which.chosen, norm, screen.margin(), nearest, ambiguous});
  check(cudaGetLastError());
}

#define KITH_INSTANTIATE(T)                                                                                  \
  template ScreenedCopies allocate_screened(const HeldRows<T>&, std::int64_t);                               \
  template void screen_copies(const HeldRows<T>&, const double*, std::int64_t, ScreenedCopies&);             \
  template void screen_and_measure(const HeldRows<T>&, const double*, std::int64_t, ScreenedCopies&, Word*); \
  template void screen_norms(const HeldRows<T>&, const T*, std::int64_t, float*, float*, Word*);             \
  template void screen_float32(const HeldRows<T>&, const Float32Screen&, PointOperand<T>, const RowChoice&,  \
                               const float*, std::int32_t*, const AmbiguousRows&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
