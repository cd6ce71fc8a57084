// Looks at rows in half precision on the tensor cores: the first decides most rows, the second finds the candidates of
// the others.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/half_rows.h"
#include "kernels/cuda/held_rows.h"
#include "kernels/cuda/recheck.h"

namespace kith::cuda {

/// Centroids of one assignment in half precision, ready for every block of rows, and what the screen leaves undecided.
struct HalfColumns {
  static constexpr std::int64_t kBatch = 1 << 17;  // undecided rows that are looked at together

  HalfRows rows;
  Buffer<float> score_base;  // (k, padded) |c'|^2 / 2 + bias: scores are positive then
  std::int64_t count = 0;
  ScreenMargin margin;        // 2 E without the rounding of the row itself
  float per_residual = 0.0F;  // 2 E per unit of a row's residual
  bool usable = false;        // false: centroids too far away for halves

  Buffer<std::int32_t> left_row;  // (rows of a block)
  Buffer<float> left_limit;       // (rows of a block)
  Buffer<Word> left_count;        // (1)
  Buffer<uint4> gathered;         // pieces of a batch of undecided rows
  Undecided undecided() const { return {left_row.data(), left_limit.data(), left_count.data()}; }
};

/// centroids (k, d) and their half norms of the float32 screen (k), on the device. held.half must have been made.
template <class T>
HalfColumns half_columns(const HeldRows<T>& held, const double* centroids, const float* half_norm, std::int64_t count);

/// Nearest column of a block of the held rows. Rows that are decided get nearest[position]; the others are listed in
/// columns.undecided(), and their number is returned. Waits for the device.
template <class T>
std::int64_t screen_halves(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                           std::int32_t* nearest);

/// Candidates of columns.undecided() rows first .. first + count - 1 (at most kBatch), as Collect of recheck.h.
template <class T>
void collect_half_candidates(const HeldRows<T>& held, const HalfColumns& columns, const Block<T>& block,
                             const RecheckRoom& room, std::int64_t first, std::int64_t count);

}  // namespace kith::cuda
