// Vectors and matrices as arrays of Eigen, for arithmetic element by element on the host.
//
// What reaches a result is computed element by element, a minimum or a maximum of numbers none of which is NaN, or a
// sum of integers. Of other sums Eigen chooses the order. Headers that kernels include stay free of this one, so that
// builds stay short.
#pragma once

// Multiply-adds of Eigen on arm64, before any of its headers: rounded twice, as on x86-64, so that sums of products
// have the same bits. Those of doubles, of which Eigen 3.4 uses these three (src/Core/arch/NEON).
#ifdef __aarch64__
#include <arm_neon.h>
#define vfmaq_f64(sum, a, b) vaddq_f64(sum, vmulq_f64(a, b))
#define vfmaq_n_f64(sum, a, b) vaddq_f64(sum, vmulq_n_f64(a, b))
#define vfmaq_laneq_f64(sum, a, b, lane) vaddq_f64(sum, vmulq_laneq_f64(a, b, lane))
#endif

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/points/data_plan.h"
#include "core/points/matrix.h"

namespace kith {

template <class T>
using RowArray = Eigen::Array<std::remove_const_t<T>, 1, Eigen::Dynamic>;
template <class T>
using RowsArray = Eigen::Array<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T, class Values>
using Borrowed = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Values, Values>>;

/// (rows, columns)
template <class T>
Borrowed<T, RowsArray<T>> array(MatrixView<T> view) {
  return {view.data, view.rows, view.columns};
}
template <class T>
Borrowed<T, RowsArray<T>> array(Matrix<T>& matrix) {
  return array(matrix.view());
}
template <class T>
Borrowed<const T, RowsArray<T>> array(const Matrix<T>& matrix) {
  return array(matrix.view());
}

/// (n), as one row
template <class T>
Borrowed<T, RowArray<T>> array(std::span<T> values) {
  return {values.data(), std::ssize(values)};
}
template <class T>
Borrowed<T, RowArray<T>> array(std::vector<T>& values) {
  return array(std::span(values));
}
template <class T>
Borrowed<const T, RowArray<T>> array(const std::vector<T>& values) {
  return array(std::span(values));
}

template <class T>
Matrix<std::remove_const_t<T>> copied(MatrixView<T> rows) {
  Matrix<std::remove_const_t<T>> copy(rows.rows, rows.columns);
  std::copy_n(rows.data, rows.size(), copy.data());
  return copy;
}

inline void extend(ColumnRange& range, const ColumnRange& other) {
  array(range.minimum) = array(range.minimum).min(array(other.minimum));
  array(range.maximum) = array(range.maximum).max(array(other.maximum));
}

/// The largest magnitude of column j.
inline double magnitude(const ColumnRange& range, std::int64_t j) {
  return std::max(std::abs(range.minimum[j]), std::abs(range.maximum[j]));
}

}  // namespace kith
