// The operations of seeding. Each implements the function of the same name in core/point_*.h. T: one of
// KITH_FOR_POINT_TYPES.
#pragma once

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

// seeding.cu
template <class T>
double update_min_distance(HeldRows<T>& held, std::span<const double> seed);
template <class T>
std::int64_t total_min_distance(const HeldRows<T>& held, FixedScale scale);
template <class T>
void draw_rows(const HeldRows<T>& held, FixedScale scale, std::span<const std::int64_t> targets,
               std::span<std::int64_t> rows);
template <class T>
void try_candidates(HeldRows<T>& held, MatrixView<const double> candidates, FixedScale scale,
                    std::span<std::int64_t> totals);
template <class T>
double commit_candidate(HeldRows<T>& held, std::int64_t chosen);

}  // namespace kith::cuda
