// Basic arithmetic: the distance, fixed-point sums, random numbers, and the margin of screens.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/distance.h"
#include "core/fixed_point.h"
#include "core/philox.h"
#include "core/screen.h"
#include "core/seeding.h"
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
