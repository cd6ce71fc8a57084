// Row-major matrices: a borrowing view, and an owner of uninitialised, aligned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "core/error.h"
#include "core/runtime/large_pages.h"

namespace kith {

/// a * b for sizes; throws Error(data) naming `what` if one is negative or the product is 2^63 or more.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    throw Error(ExitCode::data, std::string(what) + ": expected a size below 2^63, found " + std::to_string(a) + " x " +
                                    std::to_string(b) + "; use fewer rows, columns or clusters");
  }
  return product;
}

/// Borrowed rows, contiguous: element (i, j) is data[i * columns + j].
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t size() const { return rows * columns; }
  std::span<T> row(std::int64_t i) const { return {data + i * columns, static_cast<std::size_t>(columns)}; }
  T& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
  /// Rows first .. first + count - 1.
  MatrixView middle(std::int64_t first, std::int64_t count) const { return {data + first * columns, count, columns}; }
  operator MatrixView<const T>() const  // NOLINT: a view of mutable rows is a view of rows
      requires(!std::is_const_v<T>) {
    return {data, rows, columns};
  }
};

/// Owned rows in 64-byte aligned memory that is not initialised: the threads that fill it touch it first.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {
    const std::int64_t bytes = checked_product(checked_product(rows, columns, "matrix"), sizeof(T), "matrix");
    data_.reset(static_cast<T*>(allocate_pages(static_cast<std::size_t>(bytes))));
  }

  /// Keeps the memory and changes the shape, which must not be larger than before.
  void reshape(std::int64_t rows, std::int64_t columns) {
    rows_ = rows;
    columns_ = columns;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t size() const { return rows_ * columns_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  MatrixView<T> view() { return {data_.get(), rows_, columns_}; }
  MatrixView<const T> view() const { return {data_.get(), rows_, columns_}; }
  std::span<T> row(std::int64_t i) { return view().row(i); }
  std::span<const T> row(std::int64_t i) const { return view().row(i); }
  T& operator()(std::int64_t i, std::int64_t j) { return data_.get()[i * columns_ + j]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return data_.get()[i * columns_ + j]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T[], Free> data_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

/// The two value classes (docs/contract.md, Values).
enum class ValueClass { f32, f64 };
inline const char* name_of(ValueClass c) { return c == ValueClass::f32 ? "f32" : "f64"; }

/// Borrowed points of either class. Bytes are points of class f32 in a quarter of the memory.
using PointsView = std::variant<MatrixView<const float>, MatrixView<const double>, MatrixView<const std::uint8_t>,
                                MatrixView<const std::int8_t>>;
inline std::int64_t rows_of(const PointsView& p) {
  return std::visit([](const auto& v) { return v.rows; }, p);
}
inline std::int64_t columns_of(const PointsView& p) {
  return std::visit([](const auto& v) { return v.columns; }, p);
}
inline ValueClass class_of(const PointsView& p) {
  return std::holds_alternative<MatrixView<const double>>(p) ? ValueClass::f64 : ValueClass::f32;
}

/// Owned points of either class.
using PointsMatrix = std::variant<Matrix<float>, Matrix<double>, Matrix<std::uint8_t>, Matrix<std::int8_t>>;
inline PointsView view_of(const PointsMatrix& p) {
  return std::visit([](const auto& m) -> PointsView { return m.view(); }, p);
}

/// Expands to M(T) for every element type of points; kernels instantiate their templates with it.
#define KITH_FOR_POINT_TYPES(M) M(float) M(double) M(std::uint8_t) M(std::int8_t)

}  // namespace kith
