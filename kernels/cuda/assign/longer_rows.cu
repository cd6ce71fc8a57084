// Two passes of float32 products, 2 n k d operations each for the longer rows, at most one row in 64: the first finds
// the smallest score of each row, the second the columns within its margin. Several thread blocks share the columns of
// a row. Nothing waits.
#include "kernels/cuda/assign/longer_rows.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace kith::cuda {
namespace {

/// Integers that order like floats, and back.
__device__ int ordered(float value) {
  const int bits = __float_as_int(value);
  return bits ^ (bits >> 31 & 0x7FFFFFFF);
}
__device__ float from_ordered(int order) { return __int_as_float(order ^ (order >> 31 & 0x7FFFFFFF)); }
constexpr int kLargestByte = 0x7F;  // four of it are ordered() of a number above every score

/// Epilogue: the smallest score of each row.
class SmallestScore {
 public:
  struct Arguments {
    const float* half_sq_norm;  // (k)
    std::int64_t clusters;
    std::int64_t rows;
    int* smallest;  // (rows) ordered(); lowered
  };
  struct Shared {};

  __device__ SmallestScore(const Arguments& arguments, Shared&, const TilePlace& place, std::int64_t first_row)
      : arguments_(arguments), place_(place), first_row_(first_row) {}

  __device__ void take(const float (&product)[8][8], std::int64_t first_column) {
    float half_sq_norm[8];
    load_half_sq_norms(arguments_.half_sq_norm, arguments_.clusters, first_column, place_, half_sq_norm);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float smallest = std::numeric_limits<float>::infinity();
#pragma unroll
      for (int j = 0; j < 8; ++j) smallest = fminf(smallest, __fsub_rn(half_sq_norm[j], product[i][j]));
#pragma unroll
      for (int w = 2; w <= 8; w *= 2) smallest = fminf(smallest, __shfl_xor_sync(kAllLanes, smallest, w));
      const std::int64_t row = first_row_ + place_.row(i);
      if (place_.first_of_row() && row < arguments_.rows) atomicMin(&arguments_.smallest[row], ordered(smallest));
    }
  }

  __device__ void finish() {}

 private:
  const Arguments& arguments_;
  const TilePlace& place_;
  std::int64_t first_row_;
};

/// The limits of the rows' candidates. norm: (rows of the block) |x^|.
__global__ void limits_kernel(const int* smallest, std::int64_t count, const std::int32_t* position, const float* norm,
                              const ScreenMargin* margin, AmbiguousRows out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    out.row[i] = position[i];
    out.limit[i] = __fadd_ru(from_ordered(smallest[i]), margin->at(norm[position[i]]));
  }
}

}  // namespace

template <class T>
LongerRows::LongerRows(const HeldRows<T>& held) {
  const std::vector<std::int32_t>& all = held.fp16.longer_rows_on_host;
  if (all.empty() || held.rows() <= held.block_rows) return;
  std::vector<std::int32_t> in_block;
  for (const std::int32_t row : all) in_block.push_back(static_cast<std::int32_t>(row % held.block_rows));
  position_ = Buffer<std::int32_t>(held.pool(), std::ssize(in_block));
  held.stream().upload(position_.data(), in_block.data(), position_.size());
}

template <class T>
AmbiguousRows LongerRows::of(const HeldRows<T>& held, const Block<T>& block, std::int64_t& count) const {
  const std::vector<std::int32_t>& all = held.fp16.longer_rows_on_host;
  const auto first = std::lower_bound(all.begin(), all.end(), block.first);
  count = std::lower_bound(first, all.end(), block.first + block.rows) - first;
  const Buffer<std::int32_t>& positions = position_.size() > 0 ? position_ : held.fp16.longer_rows;
  return {positions.data() + (first - all.begin()), nullptr, nullptr};
}

template <class T>
void LongerRows::queue(const HeldRows<T>& held, const Block<T>& block, Float32Screen& float32,
                       const RefinementWorkspace& workspace, const double* centroids, ScreeningCounts* counts) const {
  std::int64_t count = 0;
  const AmbiguousRows longer = of(held, block, count);
  if (count == 0) return;
  float32.prepare(held, centroids);
  const Stream& stream = held.stream();
  const Context& context = *held.context;
  const AmbiguousRows rows = workspace.ambiguous();
  int* const smallest = workspace.nearest();  // until decide_batch() needs it
  stream.fill(smallest, kLargestByte, count);
  PointOperand<T> operand = point_operand(held, held.on_device(block), count);
  operand.chosen = longer.row;
  const ScreenedOperand columns = float32.columns();
  const TileGrid tiles = tile_grid(count, columns.rows, std::int64_t{context.multiprocessors} * 4);
  tile_kernel<PointOperand<T>, ScreenedOperand, SmallestScore><<<tiles.blocks(), kTileThreads, 0, stream>>>(
      operand, columns, operand.d, tiles, {float32.half_sq_norm(), columns.rows, count, smallest});
  check(cudaGetLastError());
  limits_kernel<<<context.grid(count, kBlock), kBlock, 0, stream>>>(
      smallest, count, longer.row, held.norm.data() + block.first, float32.margin(), rows);
  check(cudaGetLastError());
  collect_candidates(held, {workspace.candidates(), workspace.capacity(), &counts->longer_candidates}, rows, operand,
                     columns, float32.half_sq_norm(), 0, count);
  decide_batch(held, workspace,
               {operand, rows.row, count, Count::all_or_none(workspace.capacity(), &counts->longer_candidates)},
               centroids, held.label.data() + block.first);
}

#define KITH_INSTANTIATE(T)                                                                                        \
  template LongerRows::LongerRows(const HeldRows<T>&);                                                             \
  template AmbiguousRows LongerRows::of(const HeldRows<T>&, const Block<T>&, std::int64_t&) const;                 \
  template void LongerRows::queue(const HeldRows<T>&, const Block<T>&, Float32Screen&, const RefinementWorkspace&, \
                                  const double*, ScreeningCounts*) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
