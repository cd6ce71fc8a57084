// The steps that column magnitudes share for rows without weights (statistics.cu) and with (weighted_magnitudes.cu).
#pragma once

#include <vector>

#include "core/points/data_plan.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// The sums that a kernel adds to, and the limits of scaled values that count as small or lost.
struct MagnitudeSums {
  Word* sum;           // (d)
  Word* absolute_sum;  // (d)
  Word* off_grid;      // (d) not 0: some row is not on the grid
  Word* small;         // (d)
  Word* lost;          // (d)
  double small_limit, lost_limit;
};

/// ADDS to magnitudes the sums that launch(factors, sums) computes over the rows. factors: (2, d) the two factors of
/// each column's grid, on the device.
template <class T, class Launch>
void sum_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes,
                    const Launch& launch) {
  const std::int64_t d = held.columns();
  const Stream& stream = held.stream();
  Buffer<double> factors(held.pool(), 2 * d);
  Buffer<Word> sums(held.pool(), 5 * d);
  stream.upload(factors.data(), scales.first.data(), d);
  stream.upload(factors.data() + d, scales.second.data(), d);
  stream.fill(sums.data(), 0, 5 * d);
  launch(static_cast<const double*>(factors.data()),
         MagnitudeSums{sums.data(), sums.data() + d, sums.data() + 2 * d, sums.data() + 3 * d, sums.data() + 4 * d,
                       scales.small_limit(), scales.lost_limit()});
  std::vector<Word> host_sums(5 * d);
  stream.download(host_sums.data(), sums.data(), 5 * d);
  for (std::int64_t j = 0; j < d; ++j) {
    magnitudes.sum[j] += static_cast<std::int64_t>(host_sums[j]);
    magnitudes.absolute_sum[j] += static_cast<std::int64_t>(host_sums[d + j]);
    magnitudes.on_grid[j] &= static_cast<std::uint8_t>(host_sums[2 * d + j] == 0);
    magnitudes.small[j] += static_cast<std::int64_t>(host_sums[3 * d + j]);
    magnitudes.lost[j] += static_cast<std::int64_t>(host_sums[4 * d + j]);
  }
}

/// add_magnitudes() for weighted rows.
template <class T>
void add_weighted_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes);

}  // namespace kith::cuda
