// Arithmetic with arrays of Eigen has the bits of loops from the first element to the last.
#include "core/numbers/maps.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/catch.h"

using namespace kith;

namespace {

/// Numbers of all magnitudes and both signs, zeros of both signs and subnormals among them.
Matrix<double> numbers(std::int64_t rows, std::int64_t columns) {
  Matrix<double> out(rows, columns);
  std::mt19937_64 random(static_cast<unsigned>(rows * 97 + columns));
  std::uniform_real_distribution<double> unit(-1.0, 1.0), exponent(-1000.0, 300.0);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double value = std::ldexp(unit(random), static_cast<int>(exponent(random)));
    out.data()[i] = i % 11 == 3 ? 0.0 : i % 11 == 7 ? -0.0 : i % 5 == 0 ? 1.0 + unit(random) : value;
  }
  out.data()[0] = std::numeric_limits<double>::denorm_min();
  return out;
}

bool same_bits(const Matrix<double>& a, const Matrix<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * 8) == 0;
}

}  // namespace

TEST_CASE("arrays of Eigen round each product, sum and quotient, and fuse none") {
  for (const std::int64_t columns : {1, 2, 3, 7, 8, 31, 64}) {
    const Matrix<double> x = numbers(5, columns), y = numbers(6, columns);
    const double rate = 1.0 / 3.0;
    Matrix<double> sums(5, columns), moved(5, columns), scaled(5, columns), root(5, columns);
    Matrix<double> by_arrays(5, columns);
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const volatile double product = x(i, j) * y(0, j), step = rate * (x(i, j) - y(i, j));  // each rounded
        sums(i, j) = product + y(1, j);
        moved(i, j) = y(i, j) + step;
        scaled(i, j) = (x(i, j) - y(0, j)) / (y(1, j) + 2.5);
        root(i, j) = std::sqrt(std::abs(x(i, j)));
      }
    }
    array(by_arrays) = (array(x).rowwise() * array(y.row(0))).rowwise() + array(y.row(1));
    CHECK(same_bits(by_arrays, sums));
    for (std::int64_t i = 0; i < 5; ++i) {
      array(by_arrays.row(i)) = array(y.row(i)) + rate * (array(x.row(i)) - array(y.row(i)));
    }
    CHECK(same_bits(by_arrays, moved));
    for (std::int64_t i = 0; i < 5; ++i) {
      array(by_arrays.row(i)) = (array(x.row(i)) - array(y.row(0))) / (array(y.row(1)) + 2.5);
    }
    CHECK(same_bits(by_arrays, scaled));
    array(by_arrays) = array(x).abs().sqrt();
    CHECK(same_bits(by_arrays, root));
  }
}

TEST_CASE("ranges of columns are those of loops with std::min and std::max, signs of zeros included") {
  for (const std::int64_t columns : {1, 2, 5, 8, 33}) {
    const Matrix<double> x = numbers(40, columns);
    ColumnRange range(columns);
    Matrix<double> least(1, columns), most(1, columns), found(1, columns);
    array(least).setConstant(std::numeric_limits<double>::infinity());
    array(most).setConstant(-std::numeric_limits<double>::infinity());
    for (std::int64_t i = 0; i < x.rows(); ++i) {
      ColumnRange row(0);
      row.minimum.assign(x.row(i).begin(), x.row(i).end());
      row.maximum = row.minimum;
      extend(range, row);
      for (std::int64_t j = 0; j < columns; ++j) {
        least(0, j) = std::min(least(0, j), x(i, j));
        most(0, j) = std::max(most(0, j), x(i, j));
      }
    }
    array(found.row(0)) = array(range.minimum);
    CHECK(same_bits(found, least));
    array(found.row(0)) = array(range.maximum);
    CHECK(same_bits(found, most));
    CHECK(magnitude(range, 0) == std::max(std::abs(least(0, 0)), std::abs(most(0, 0))));
    const Matrix<double> copy = copied(x.view());
    CHECK(same_bits(copy, x));
  }
}

TEST_CASE("values that leave the range of float32 are not finite when they are rounded to it") {
  std::vector<double> values{1e300, 1.0, -1e39};
  std::vector<float> rounded(3);
  array(rounded) = array(values).cast<float>();
  CHECK(!array(rounded).isFinite().all());
  CHECK(array(rounded).isFinite().count() == 1);
}
