// Column ranges and magnitudes: one memory-bound pass over the points each.
#include <cmath>
#include <mutex>

#include "kernels/cpu/points.h"

namespace kith::cpu {

namespace {

/// The number of values processed at a time: several rows if they are short, so that inner loops are long.
std::int64_t width_of(std::int64_t d) {
  constexpr std::int64_t kLong = 64;
  return ceil_div(kLong, d) * d;
}

/// The values of a row, repeated up to the width.
template <class T>
std::vector<T> repeated(const T* row, std::int64_t d) {
  std::vector<T> values;
  for (std::int64_t j = 0; j < width_of(d); ++j) values.push_back(row[j % d]);
  return values;
}

/// Whether threads take columns rather than rows: partial results of long rows would take more memory than the rows.
template <class T>
bool takes_columns(const HeldRows<T>& held) {
  return held.columns() >= kLongRow;
}

/// work(values of a row, first column, last column) for every row, with its columns on one thread.
template <class T, class Work>
void for_columns(const HeldRows<T>& held, const Work& work) {
  constexpr std::int64_t kStep = 4096;  // columns whose results stay in the first or second cache
  const std::int64_t d = held.columns();
  held.threads.run(ceil_div(d, kStep), [&](std::int64_t task, int) {
    for (std::int64_t i = 0; i < held.rows(); ++i) work(held.row(i), task * kStep, std::min((task + 1) * kStep, d));
  });
}

/// Magnitudes of `columns` columns that a thread adds up.
struct PartialMagnitudes {
  PartialMagnitudes(std::int64_t columns, const ColumnScales& scales)
      : of_columns(columns), off_grid(static_cast<std::size_t>(columns), 0.0), view{of_columns.sum.data(),
                                                                                    of_columns.absolute_sum.data(),
                                                                                    of_columns.small.data(),
                                                                                    of_columns.lost.data(),
                                                                                    off_grid.data(),
                                                                                    scales.small_limit(),
                                                                                    scales.lost_limit()} {}
  /// Once all values are added.
  const ColumnMagnitudes& finish() {
    for (std::size_t j = 0; j < off_grid.size(); ++j) of_columns.on_grid[j] = off_grid[j] == 0.0 ? 1 : 0;
    return of_columns;
  }

  ColumnMagnitudes of_columns;
  std::vector<double> off_grid;
  MagnitudeView view;
};

/// Adds partial magnitudes of repeated columns.
void add(const ColumnMagnitudes& partial, ColumnMagnitudes& magnitudes) {
  const std::size_t d = magnitudes.sum.size();
  for (std::size_t j = 0; j < partial.sum.size(); ++j) {
    magnitudes.sum[j % d] += partial.sum[j];
    magnitudes.absolute_sum[j % d] += partial.absolute_sum[j];
    magnitudes.on_grid[j % d] &= partial.on_grid[j];
    magnitudes.small[j % d] += partial.small[j];
    magnitudes.lost[j % d] += partial.lost[j];
  }
}

/// Whole weights multiply integers, others multiply values (core/points/weights.h).
template <class T>
void add_weighted_magnitudes(const HeldRows<T>& held, const ColumnScales& scales, ColumnMagnitudes& magnitudes) {
  const std::int64_t d = held.columns();
  const double small = scales.small_limit(), lost = scales.lost_limit();
  const RowWeights weights{held.weights.weight, scales.integral_weights};
  std::mutex merging;
  held.for_ranges(held.rows_per_task(8 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    ColumnMagnitudes part(d);
    for (std::int64_t i = first; i < last; ++i) {
      const RowWeight weight = weights.of(i);
      const T* x = held.row(i);
      for (std::int64_t j = 0; j < d; ++j) {
        const double scaled = static_cast<double>(x[j]) * scales.first[j] * (scales.second[j] * weight.factor);
        const auto q = static_cast<std::int64_t>(std::rint(scaled));
        part.sum[j] += q * weight.copies;
        part.absolute_sum[j] += std::abs(q) * weight.copies;
        part.on_grid[j] &= static_cast<std::uint8_t>(static_cast<double>(q) == scaled);
        if (x[j] == 0) continue;
        if (std::abs(scaled) < small) part.small[j] += weight.copies;
        if (std::abs(scaled) < lost) part.lost[j] += weight.copies;
      }
    }
    const std::lock_guard lock(merging);
    add(part, magnitudes);
  });
}

}  // namespace

template <class T>
void CpuPoints<T>::add_range(ColumnRange& range) const {
  if (takes_columns(held_)) {
    return for_columns(held_, [&](const T* x, std::int64_t first, std::int64_t last) {
      for (std::int64_t j = first; j < last; ++j) {
        range.minimum[j] = std::min(range.minimum[j], static_cast<double>(x[j]));
        range.maximum[j] = std::max(range.maximum[j], static_cast<double>(x[j]));
      }
    });
  }
  const std::int64_t d = held_.columns(), width = width_of(d);
  std::mutex merging;
  held_.for_ranges(held_.rows_per_task(d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<T> low = repeated(held_.row(first), d), high = low;
    const T* const end = held_.row(last);
    for (const T* x = held_.row(first); x < end; x += width) {
      const std::int64_t count = std::min<std::int64_t>(width, end - x);
      for (std::int64_t j = 0; j < count; ++j) {
        low[j] = x[j] < low[j] ? x[j] : low[j];
        high[j] = x[j] > high[j] ? x[j] : high[j];
      }
    }
    const std::lock_guard lock(merging);
    for (std::int64_t j = 0; j < width; ++j) {
      range.minimum[j % d] = std::min(range.minimum[j % d], static_cast<double>(low[j]));
      range.maximum[j % d] = std::max(range.maximum[j % d], static_cast<double>(high[j]));
    }
  });
}

template <class T>
void CpuPoints<T>::add_magnitudes(const ColumnScales& scales, ColumnMagnitudes& magnitudes) const {
  if (held_.weights.weight != nullptr) return add_weighted_magnitudes(held_, scales, magnitudes);
  const std::int64_t d = held_.columns(), width = width_of(d);
  const auto add_values = held_.set.template rows<T>().add_magnitudes;
  if (takes_columns(held_)) {
    PartialMagnitudes all(d, scales);
    for_columns(held_, [&](const T* x, std::int64_t first, std::int64_t last) {
      const MagnitudeView& to = all.view;
      add_values(x + first, last - first, {scales.first.data() + first, scales.second.data() + first, 0.0},
                 {to.sum + first, to.absolute_sum + first, to.small + first, to.lost + first, to.off_grid + first,
                  to.small_limit, to.lost_limit});
    });
    return add(all.finish(), magnitudes);
  }
  const std::vector<double> first_factor = repeated(scales.first.data(), d);
  const std::vector<double> second_factor = repeated(scales.second.data(), d);
  std::mutex merging;
  held_.for_ranges(held_.rows_per_task(d), [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    PartialMagnitudes partial(width, scales);
    const T* const end = held_.row(last);
    for (const T* x = held_.row(first); x < end; x += width) {
      add_values(x, std::min<std::int64_t>(width, end - x), {first_factor.data(), second_factor.data(), 0.0},
                 partial.view);
    }
    const std::lock_guard lock(merging);
    add(partial.finish(), magnitudes);
  });
}

#define KITH_INSTANTIATE(T)                                  \
  template void CpuPoints<T>::add_range(ColumnRange&) const; \
  template void CpuPoints<T>::add_magnitudes(const ColumnScales&, ColumnMagnitudes&) const;
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
