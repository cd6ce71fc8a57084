// The error of sums of products on tensor cores, compared with exact integer arithmetic, is within the bound that the
// certificate of the screen uses. Built with CUDA support only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/numbers/screen.h"
#include "tests/kernels/tensor_products.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/truncation.h"

using namespace kith;
using namespace kith::test;

namespace {

/// x.c in multiples of 2^-48, exactly: the values are multiples of 2^-24 and at most 1.
std::int64_t exact_product(std::span<const double> x, std::span<const double> c) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += static_cast<std::int64_t>(x[j] * 0x1p24) * static_cast<std::int64_t>(c[j] * 0x1p24);
  }
  return sum;
}

double norm(std::span<const double> x) {
  double sum = 0.0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

Matrix<float> floats(const Matrix<double>& values) {
  Matrix<float> m(values.rows(), values.columns());
  std::copy(values.data(), values.data() + values.size(), m.data());
  return m;
}

/// The largest error of any product, relative to |x||c|.
double largest_error(const std::string& screen, const Matrix<double>& rows, const Matrix<double>& columns) {
  const Matrix<float> points = floats(rows);
  const Matrix<float> products = cuda::tensor_products(screen, points.view(), columns.view());
  double largest = 0.0;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t c = 0; c < columns.rows(); ++c) {
      // A float32 and a number of 63 bits: long double holds their difference.
      const long double exact = std::ldexp(static_cast<long double>(exact_product(rows.row(i), columns.row(c))), -48);
      const auto error = static_cast<double>(std::abs(static_cast<long double>(products(i, c)) - exact));
      REQUIRE(std::isfinite(error));
      largest = std::max(largest, error / (norm(rows.row(i)) * norm(columns.row(c))));
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("the error of products is within the bound of the certificate", "[screen]") {
  for (const Tested& tested : tested_backends()) {
    for (const std::string& screen : tested.backend->device().screens) {
      if (screen == "float32") continue;
      for (const std::int64_t d : {1, 15, 16, 17, 63, 64, 129, 320, 448, 770, 1025, 2048, 4097}) {
        const Matrix<double> rows = truncating_rows({250, d}), columns = truncating_centroids({260, d});
        const double bound = tensor_accumulation(d);
        const double error = std::max(largest_error(screen, rows, columns), largest_error(screen, columns, rows)),
                     error_of_rows = largest_error(screen, rows, rows);
        INFO(screen << ", d " << d);
        CHECK(error <= bound);
        CHECK(error_of_rows <= bound);
        std::printf("%s, d %4d: the largest error is %.2f units of 2^-24, %.1f %% of the bound\n", screen.c_str(),
                    static_cast<int>(d), std::max(error, error_of_rows) * 0x1p24,
                    100 * std::max(error, error_of_rows) / bound);
      }
      // The vectors serve their purpose: the error exceeds that of float32 additions rounded to nearest.
      const Matrix<double> rows = truncating_rows({250, 4097});
      CHECK(largest_error(screen, rows, rows) > 0x1p-20);
    }
  }
}
