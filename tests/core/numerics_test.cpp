// Basic arithmetic: the distance, fixed-point sums, random numbers, and the margin of screens.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/kmeans/seeding.h"
#include "core/numbers/distance.h"
#include "core/numbers/fixed_point.h"
#include "core/numbers/philox.h"
#include "core/numbers/screen.h"
#include "kernels/cuda/screen/divided_margin.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

TEST_CASE("the squared distance equals the definition for every number of columns", "[numerics]") {
  for (const std::int64_t d : {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 127, 129, 1025, 4097}) {
    for (const Kind& kind : kinds()) {
      const Matrix<double> m = kind.make(3, d, 5);
      CHECK(squared_distance(m.row(0).data(), m.row(1).data(), d) ==
            reference_distance(m.row(0).data(), m.row(1).data(), d));
      CHECK(squared_distance(m.row(0).data(), m.row(0).data(), d) == 0.0);
    }
  }
}

TEST_CASE("appended zero columns change no bit of a distance", "[numerics]") {
  const std::int64_t d = 37;
  const Matrix<double> m = kinds()[0].make(2, d, 9);
  for (const std::int64_t wider : {38, 64, 65, 200}) {
    Matrix<double> padded(2, wider);
    std::fill(padded.data(), padded.data() + padded.size(), 0.0);
    for (std::int64_t i = 0; i < 2; ++i) std::copy(m.row(i).begin(), m.row(i).end(), padded.row(i).begin());
    CHECK(squared_distance(padded.row(0).data(), padded.row(1).data(), wider) ==
          squared_distance(m.row(0).data(), m.row(1).data(), d));
  }
}

// Test vectors of the authors (Random123, kat_vectors).
TEST_CASE("Philox4x32-10 gives the published numbers", "[numerics]") {
  CHECK(philox(0, 0, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ULL, ~0ULL, ~0ULL) == std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random numbers below a total take all values below it", "[numerics]") {
  std::vector<int> seen(7, 0);
  for (std::uint64_t draw = 0; draw < 7000; ++draw) {
    const std::int64_t r = random_below(1, 0, draw, 7);
    REQUIRE((r >= 0 && r < 7));
    ++seen[r];
  }
  for (const int count : seen) CHECK(std::abs(count - 1000) < 150);
  CHECK(random_below(1, 0, 0, std::int64_t{1} << 61) < (std::int64_t{1} << 61));
}

TEST_CASE("random rows are distinct", "[numerics]") {
  for (const std::int64_t k : {1, 5, 100}) {
    std::vector<std::int64_t> rows = random_rows(100, k, {3, 0});
    std::sort(rows.begin(), rows.end());
    CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
    CHECK((rows.front() >= 0 && rows.back() < 100));
  }
  CHECK(random_rows(100, 10, {3, 0}) != random_rows(100, 10, {4, 0}));
  CHECK(random_rows(100, 10, {3, 0}) != random_rows(100, 10, {3, 1}));
}

TEST_CASE("the exponent of a grid is that of the smallest power of two above a value", "[numerics]") {
  for (const double v : {1.0, 0.99, 1.5, 2.0, 1e300, 1e-300, 0x1p-1074, 0x1.fffffffffffffp+1023}) {
    const int e = exponent_above(v);
    CHECK(std::scalbn(v, -e) < 1.0);
    CHECK(std::scalbn(v, -e) >= 0.5);
    CHECK(exponent_above(-v) == e);
  }
  CHECK(term_bits(1) == 61);
  CHECK(term_bits(2) == 60);
  CHECK(term_bits(1'000'000) == 41);
  CHECK(term_bits(1 << 20) == 41);
  CHECK(term_bits((1 << 20) + 1) == 40);
}

TEST_CASE("one limb keeps integers, and two limbs keep the fractions that one limb drops", "[numerics]") {
  const FixedScale scale = fixed_scale(41);
  CHECK(from_fixed(to_fixed(16.0, scale.first, scale.second), 41) == 16.0);
  CHECK(from_fixed(to_fixed(-0.5, scale.first, scale.second), 41) == -0.5);
  for (const double v : {1e-9, -1e-9, 3.14159, -2.5e-7, 0x1p-60}) {
    const Limbs limbs = to_limbs(v, scale.first, scale.second, power_of_two(41));
    CHECK(std::abs(from_limbs(limbs, 41, 41) - v) <= 0x1p-83);
  }
  // A subnormal on a grid of 2^1130, outside the exponents of float64.
  const FixedScale deep = fixed_scale(1130);
  CHECK(from_fixed(to_fixed(0x1p-1074, deep.first, deep.second), 1130) == 0x1p-1074);
}

TEST_CASE("sums of limbs do not depend on order", "[numerics]") {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(std::ldexp(static_cast<double>(random_bits(1, 2, i) >> 11), -53 - i % 40));
  const FixedScale scale = fixed_scale(term_bits(1000) - exponent_above(1.0));
  const auto sum = [&] {
    Limbs total;
    for (const double v : values) {
      const Limbs part = to_limbs(v, scale.first, scale.second, power_of_two(term_bits(1000)));
      total.high += part.high;
      total.low += part.low;
    }
    return from_limbs(total, scale.shift, term_bits(1000));
  };
  const double forward = sum();
  std::reverse(values.begin(), values.end());
  CHECK(sum() == forward);
  std::sort(values.begin(), values.end());
  CHECK(sum() == forward);
  long double exact = 0;
  for (const double v : values) exact += v;
  CHECK(forward == static_cast<double>(exact));
}

namespace {

/// The score of row x for centroid c in long double, on centred, scaled values.
long double true_score(const double* x, const double* c, std::int64_t d, const ScreenTransform& screen) {
  long double dot = 0, norm = 0;
  for (std::int64_t j = 0; j < d; ++j) {
    const long double xj = std::ldexp(static_cast<long double>(x[j]), -screen.exponent) - screen.center[j];
    const long double cj = std::ldexp(static_cast<long double>(c[j]), -screen.exponent) - screen.center[j];
    dot += xj * cj;
    norm += cj * cj;
  }
  return norm / 2 - dot;
}

}  // namespace

// With vectors of one sign, all roundings of a chain of additions have the same direction.
TEST_CASE("the margin covers the error of a float32 screen", "[numerics][screen]") {
  for (const Kind& kind : kinds()) {
    for (const std::int64_t d : {1, 3, 17, 128, 1000}) {
      INFO(kind.name << ", d " << d);
      const Matrix<double> points = kind.make(40, d, 21);
      const auto held = reference_points(points.view());
      const DataPlan plan = make_plan(*held);
      const ScreenedRows screened = screen_rows(points.view(), plan.screen);
      const ScreenMargin margin =
          screen_margin(screened, d, plan.screen.exponent, {0x1p-24, (static_cast<double>(d) + 2) * 0x1p-24});
      std::vector<float> x(d);
      for (std::int64_t i = 0; i < 40; ++i) {
        screen_row(points.row(i).data(), d, power_of_two(-plan.screen.exponent), plan.screen.center.data(), x.data());
        float norm = 0;
        for (const float v : x) norm = std::fma(v, v, norm);
        for (std::int64_t c = 0; c < 40; ++c) {
          float dot = 0;
          for (std::int64_t j = 0; j < d; ++j) dot = std::fma(x[j], screened.values(c, j), dot);
          const long double lost = std::abs(static_cast<long double>(screened.half_sq_norm[c] - dot) -
                                            true_score(points.row(i).data(), points.row(c).data(), d, plan.screen));
          CHECK(2 * lost <= static_cast<long double>(margin.at(std::sqrt(norm))));
        }
      }
    }
  }
}

namespace {

/// A vector in the units of fp16 rows, and rounded to 11 bits as fp16 is.
struct RoundedVector {
  std::vector<double> exact, rounded;
  LargestNorms norms() const {
    double squares = 0.0, lost = 0.0;
    for (std::size_t j = 0; j < exact.size(); ++j) {
      squares += exact[j] * exact[j];
      lost += (exact[j] - rounded[j]) * (exact[j] - rounded[j]);
    }
    return {std::sqrt(squares), std::sqrt(lost)};
  }
};

RoundedVector rounded_vector(const double* row, std::int64_t d, const ScreenTransform& screen, double factor) {
  RoundedVector vector;
  for (std::int64_t j = 0; j < d; ++j) {
    const double value = factor * 256 * (std::ldexp(row[j], -screen.exponent) - static_cast<double>(screen.center[j]));
    const double step = std::ldexp(1.0, std::max(value == 0.0 ? -14 : std::ilogb(value), -14) - 10);
    vector.exact.push_back(value);
    vector.rounded.push_back(std::nearbyint(value / step) * step);
  }
  return vector;
}

/// |c|^2 / 2 - x.c
long double score_of(const std::vector<double>& x, const std::vector<double>& c) {
  long double score = 0;
  for (std::size_t j = 0; j < x.size(); ++j)
    score += static_cast<long double>(c[j]) * (static_cast<long double>(c[j]) / 2 - static_cast<long double>(x[j]));
  return score;
}

/// Columns of a screen with a divided margin.
struct DividedColumns {
  std::vector<RoundedVector> columns;
  std::vector<ColumnError> errors;
  DividedMargin margin;
};

DividedColumns divided_columns(std::vector<RoundedVector> columns, double usual_norm, double longest_row,
                               int exponent) {
  DividedColumns divided;
  const auto d = std::ssize(columns.front().exact);
  const double floor = usual_norm / 64;
  LargestErrors largest;
  double slopes = 0.0, longest = 0.0;
  float quadratic = 0.0F;
  for (const RoundedVector& column : columns) {
    const LargestNorms norms = column.norms();
    const ColumnError error = column_error(norms, d, exponent, {0.0, 0.0});
    const auto from_floor = static_cast<float>(norms.norm + floor);
    largest.slope = std::max(largest.slope, error.slope);
    largest.constant = std::max(largest.constant, error.constant);
    largest.slope_by_length = std::max(largest.slope_by_length, error.slope / from_floor * (1 + 0x1p-20F));
    largest.constant_by_square =
        std::max(largest.constant_by_square, error.constant / from_floor / from_floor * (1 + 0x1p-20F));
    slopes += error.slope;
    longest = std::max(longest, norms.norm);
    quadratic = screen_margin(norms, d, exponent, {0.0, 0.0}).quadratic;
    divided.errors.push_back(error);
  }
  divided.margin = divided_margin(largest, slopes / static_cast<double>(columns.size()), 2 * usual_norm, floor,
                                  0x1p-8 * longest_row * longest, 0.0F, quadratic, 0.0);
  divided.columns = std::move(columns);
  return divided;
}

}  // namespace

// Columns have lengths from 2^-8 to 2^7 of those of the rows, so that their parts of the margin differ by far.
TEST_CASE("a divided margin covers the error of rows and columns", "[numerics][screen]") {
  for (const Kind& kind : kinds()) {
    for (const std::int64_t d : {1, 3, 17, 128, 1000}) {
      INFO(kind.name << ", d " << d);
      constexpr std::int64_t kCount = 40;
      const Matrix<double> points = kind.make(kCount, d, 22);
      const auto held = reference_points(points.view());
      const ScreenTransform& screen = make_plan(*held).screen;
      if (screen.exponent < -100) continue;
      std::vector<RoundedVector> rows, columns;
      std::vector<double> norms;
      for (std::int64_t i = 0; i < kCount; ++i) {
        rows.push_back(rounded_vector(points.row(i).data(), d, screen, 1.0));
        columns.push_back(
            rounded_vector(points.row(i).data(), d, screen, std::ldexp(1.0, static_cast<int>(i % 16) - 8)));
        norms.push_back(rows.back().norms().norm);
      }
      std::sort(norms.begin(), norms.end());
      const DividedColumns divided =
          divided_columns(columns, norms[norms.size() / 2], norms.back(), screen.exponent - 8);
      for (const RoundedVector& row : rows) {
        long double lowest = std::numeric_limits<long double>::infinity(), nearest = lowest, of_nearest = 0;
        float part = 0.0F;
        for (std::size_t c = 0; c < divided.columns.size(); ++c) {
          const RoundedVector& column = divided.columns[c];
          long double half = 0;  // |c'|^2 / 2 is not rounded, the product is
          for (std::size_t j = 0; j < column.exact.size(); ++j)
            half += static_cast<long double>(column.exact[j]) * column.exact[j] / 2 -
                    static_cast<long double>(column.rounded[j]) * column.rounded[j] / 2;
          const long double lowered = score_of(row.rounded, column.rounded) + half -
                                      static_cast<long double>(divided.margin.part_of(divided.errors[c])) / 2;
          const long double exact = score_of(row.exact, column.exact);
          if (lowered < lowest) lowest = lowered, part = divided.margin.part_of(divided.errors[c]);
          if (exact < nearest) nearest = exact, of_nearest = lowered;
        }
        const LargestNorms of_row = row.norms();
        const double squares = std::inner_product(row.rounded.begin(), row.rounded.end(), row.rounded.begin(), 0.0);
        const float norm = static_cast<float>(std::sqrt(squares)) * (1 + 0x1p-20F);
        const float residual = static_cast<float>(of_row.residual) * (1 + 0x1p-20F);
        const auto above = static_cast<float>(lowest) + std::abs(static_cast<float>(lowest)) * 0x1p-20F;
        CHECK(of_nearest - lowest <= static_cast<long double>(divided.margin.at(norm, residual, above, part)));
        constexpr float kUnknown = std::numeric_limits<float>::infinity();
        CHECK(of_nearest - lowest <= static_cast<long double>(divided.margin.at(norm, residual, above, kUnknown)));
      }
    }
  }
}

TEST_CASE("a few long columns do not widen the margins of other rows", "[numerics][screen]") {
  constexpr std::int64_t kCount = 200, kColumns = 64;
  const Matrix<double> points = kinds()[0].make(kCount, kColumns, 5);
  ScreenTransform screen;
  screen.center.resize(kColumns);
  std::vector<RoundedVector> rows, usual, all;
  double total = 0.0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    rows.push_back(rounded_vector(points.row(i).data(), kColumns, screen, 1.0));
    total += rows.back().norms().norm;
    usual.push_back(rows.back());
    all.push_back(rounded_vector(points.row(i).data(), kColumns, screen, i % 20 == 0 ? 16.0 : 1.0));
  }
  const double mean = total / kCount;
  const DividedColumns without = divided_columns(usual, mean, 4 * mean, -8),
                       with = divided_columns(all, mean, 4 * mean, -8);
  for (std::size_t i = 1; i < rows.size(); i += 20) {  // those of usual columns
    const LargestNorms norms = rows[i].norms();
    const auto norm = static_cast<float>(norms.norm), residual = static_cast<float>(norms.residual);
    const float lowest = -norm * norm / 4;  // of a column at a distance of |x| / sqrt(2)
    const float narrow = without.margin.at(norm, residual, lowest, without.margin.part_of(without.errors[i]));
    CHECK(with.margin.at(norm, residual, lowest, with.margin.part_of(with.errors[i])) <= 2 * narrow);
    CHECK(with.margin.at(norm, residual, lowest, std::numeric_limits<float>::infinity()) <= 4 * narrow);
    // A margin that is not divided is that of the longest column.
    const ScreenMargin whole = screen_margin({16 * norms.norm, 16 * norms.residual}, kColumns, -8, {0.0, 0.0});
    CHECK(whole.at(norm) + 2 * 16 * norm * residual > 4 * narrow);
  }
}

// The reference is the conversion of 128-bit integers by the compiler.
TEST_CASE("two limbs are joined with one rounding, ties to even", "[numerics]") {
  const auto check = [](std::int64_t high, std::int64_t low, int bits) {
    const auto whole = static_cast<__int128>(high) * (std::int64_t{1} << bits) + low;
    INFO("high " << high << ", low " << low << ", bits " << bits);
    CHECK(joined({high, low}, bits) == static_cast<double>(whole));
  };
  for (const int bits : {1, 2, 11, 31, 41, 52, 53, 54, 60, 61}) {
    const std::int64_t unit = std::int64_t{1} << bits;
    for (int e = 0; e < 62; ++e) {
      const std::int64_t power = std::int64_t{1} << e;
      for (const std::int64_t high : {power - 1, power, power + 1, -power, 1 - power, -power - 1}) {
        for (const std::int64_t low : {std::int64_t{0}, std::int64_t{1}, unit / 2 - 1, unit / 2, unit / 2 + 1, unit - 1,
                                       -unit / 2, (std::int64_t{1} << 61) + 1}) {
          check(high, low, bits);
        }
      }
    }
    for (std::uint64_t draw = 0; draw < 20000; ++draw) {
      const auto high = static_cast<std::int64_t>(random_bits(1, draw, 0)) >> (2 + draw % 60);
      check(high, static_cast<std::int64_t>(random_bits(1, draw, 1) >> (64 - bits)), bits);
    }
  }
}
