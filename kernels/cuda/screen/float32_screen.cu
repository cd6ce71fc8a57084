// The screening pass of the float32 screen: an epilogue of the tiled product keeps the best two scores of each row.
//
// Cost: 2 n k d float32 operations; device/tile.h states the floor.
#include "kernels/cuda/screen/float32_screen.h"

#include <limits>

namespace kith::cuda {
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

#define KITH_INSTANTIATE(T)                                                                                 \
  template void screen_float32(const HeldRows<T>&, const Float32Screen&, PointOperand<T>, const RowChoice&, \
                               const float*, std::int32_t*, const AmbiguousRows&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
