// Which problems are small: every distance by the definition then costs less than a screen, and centroids fit in the
// shared memory of a block.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/assign/small_rows.h"

namespace kith::cuda {

inline constexpr std::int64_t kMostSmallClusters = 1024;  // since one thread adds up their shifts in order
inline constexpr std::int64_t kMostSmallCells = 8192;     // clusters x columns in shared memory
inline constexpr double kSmallWork = 2e8;                 // n k d up to which the definition costs less than a screen
inline constexpr std::int64_t kUnscreenedCells = 64;      // for narrow rows: k d up to which it does for any n

/// use(std::type_identity<Form>) with the form of small_rows.h for rows of d columns.
template <class T, class Use>
auto with_row_form(std::int64_t d, const Use& use) {
  if (d <= 1) return use(std::type_identity<RowPerThread<T, 1>>());
  if (d <= 2) return use(std::type_identity<RowPerThread<T, 2>>());
  if (d <= 4) return use(std::type_identity<RowPerThread<T, 4>>());
  if (d <= 8) return use(std::type_identity<RowPerThread<T, 8>>());
  if (d <= kMostThreadColumns) return use(std::type_identity<RowPerThread<T, 16>>());
  return use(std::type_identity<RowsPerWarp<T>>());
}

/// Values from one centroid to the next in shared memory.
template <class T>
std::int64_t small_pitch(std::int64_t d) {
  return with_row_form<T>(
      d, [&]<class Form>(std::type_identity<Form>) { return Form::kPitch != 0 ? std::int64_t{Form::kPitch} : d; });
}

inline double small_work(std::int64_t rows, std::int64_t clusters, std::int64_t d) {
  return static_cast<double>(rows) * static_cast<double>(clusters) * static_cast<double>(d);
}

/// Whether the definition costs less than a screen. The caller checks the shared memory.
template <class T>
bool is_cheaper_unscreened(const HeldRows<T>& held, std::int64_t clusters) {
  const std::int64_t d = held.columns();
  if (held.resident_rows == 0 || held.sent || clusters > kMostSmallClusters || d > kMostSmallCells) return false;
  const std::int64_t cells = clusters * small_pitch<T>(d);
  return cells <= kMostSmallCells &&
         (small_work(held.rows(), clusters, d) <= kSmallWork || (d <= kMostThreadColumns && cells <= kUnscreenedCells));
}

inline int device_attribute(const Context& context, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, context.device));
  return value;
}

/// Bytes of shared memory that a block may have, less what the kernels declare themselves.
inline std::int64_t small_shared_bytes(const Context& context) {
  return device_attribute(context, cudaDevAttrMaxSharedMemoryPerBlockOptin) - 1024;
}

}  // namespace kith::cuda
