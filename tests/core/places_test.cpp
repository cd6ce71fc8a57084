// Places: sines and cosines of degrees, arcs of chords, and the chord within a radius.
#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers/places.h"
#include "tests/support/catch.h"

using namespace kith;

namespace {

/// Angles from -360 to 360: regular ones, and ones next to multiples of 45.
std::vector<double> angles() {
  std::vector<double> all;
  for (int i = -36000; i <= 36000; i += 7) all.push_back(i / 100.0);
  for (int i = -8; i <= 8; ++i) {
    all.push_back(std::nextafter(45.0 * i, 1000.0));
    all.push_back(std::nextafter(45.0 * i, -1000.0));
  }
  for (double small = 1.0; small > 1e-30; small /= 7.0) all.push_back(small);
  return all;
}

double unit_in_last_place(double x) { return std::nextafter(std::abs(x), 2.0) - std::abs(x); }

}  // namespace

TEST_CASE("sines and cosines of degrees are exact for multiples of 90, and the nearest float64 for others") {
  for (int quarters = -4; quarters <= 4; ++quarters) {
    const double sines[] = {0.0, 1.0, 0.0, -1.0};
    const auto [sine, cosine] = sine_cosine(90.0 * quarters);
    CHECK(sine == sines[quarters & 3]);
    CHECK(cosine == sines[(quarters + 1) & 3]);
  }
  CHECK(sine_cosine(30.0).sine == 0.5);
  CHECK(sine_cosine(60.0).cosine == 0.5);
  CHECK(sine_cosine(45.0).sine == std::sqrt(0.5));
  CHECK(sine_cosine(135.0).cosine == -std::sqrt(0.5));
  CHECK(sine_cosine(190.0).sine == sine_cosine(-170.0).sine);
  // Of mpmath, with 250 bits.
  CHECK(sine_cosine(0.1).sine == 0x1.c98701025eb20p-10);
  CHECK(sine_cosine(48.8566).sine == 0x1.8191c42066d4cp-1);
  CHECK(sine_cosine(48.8566).cosine == 0x1.50de47a705566p-1);
  CHECK(sine_cosine(-359.9999999).sine == 0x1.dfc0a7bec36e4p-30);
  if constexpr (std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits) {
    const long double degree = std::acos(-1.0L) / 180.0L;
    for (const double angle : angles()) {
      const long double rest = std::remainder(static_cast<long double>(angle), 90.0L) * degree;
      const long double sines[] = {std::sin(rest), std::cos(rest), -std::sin(rest), -std::cos(rest)};
      const auto quarters = static_cast<int>(std::nearbyint(angle / 90.0));
      const auto [sine, cosine] = sine_cosine(angle);
      INFO(angle);
      CHECK(std::abs(sine - sines[quarters & 3]) <= 0.501L * unit_in_last_place(sine));
      CHECK(std::abs(cosine - sines[(quarters + 1) & 3]) <= 0.501L * unit_in_last_place(cosine));
    }
  }
}

TEST_CASE("arcs of chords are within 1e-10 km, and never fall while the chord grows") {
  CHECK(great_circle(0.0) == 0.0);
  CHECK(great_circle(4.0) == 20015.114442035923);
  CHECK(great_circle(5.0) == great_circle(4.0));
  for (double d = 4.0; d > 1e-28; d *= 0.93) {
    const long double arc = 2.0L * kEarthRadius * std::asin(std::sqrt(static_cast<long double>(d)) / 2.0L);
    CHECK(std::abs(great_circle(d) - arc) <= 1e-10L);
    CHECK(std::abs(great_circle(d) - arc) <= 1e-14L * arc);
  }
  for (const double about : {1e-30, 1e-9, 0.3, 1.0, 2.0, 4.0}) {
    double d = about, falls = 0.0;
    for (int step = 0; step < 2000; ++step) d = std::nextafter(d, 0.0);
    for (double before = 0.0; d <= about * (1.0 + 1e-13); d = std::nextafter(d, 8.0)) {
      falls += great_circle(d) < before ? 1.0 : 0.0;
      before = great_circle(d);
    }
    CHECK(falls == 0.0);
  }
}

TEST_CASE("the chord within a radius is the largest whose distance is no farther") {
  for (const double radius : {0.0, 1e-12, 0.5, 1.0, 111.2, 5000.0, 10007.557, 20015.1, 20015.114442035920}) {
    const double d = chord_within(radius);
    INFO(radius);
    CHECK(great_circle(d) <= radius);
    CHECK(great_circle(std::nextafter(d, 8.0)) > radius);
  }
  CHECK(chord_within(20015.114442035923) == 8.0);
  CHECK(chord_within(1e300) == 8.0);
}

TEST_CASE("rows that are no places are refused with their number, or dropped if they have no numbers") {
  Matrix<double> places(4, 2), points(4, kPlaceColumns);
  const double rows[] = {90.0, 12.0, 90.0, -77.0, 10.0, 180.0, 10.0, -180.0};
  std::copy(std::begin(rows), std::end(rows), places.data());
  write_places(std::as_const(places).view(), points.view(), {"places.csv", 0});
  for (std::int64_t j = 0; j < kPlaceColumns; ++j) {  // the pole, and the date line
    CHECK(points(0, j) == points(1, j));
    CHECK(points(2, j) == points(3, j));
  }
  const auto refusal = [&](double latitude, double longitude) -> std::string {
    places(2, 0) = latitude;
    places(2, 1) = longitude;
    try {
      write_places(std::as_const(places).view(), points.view(), {"places.csv", 100});
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      return error.what();
    }
    return "";
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  CHECK(has(refusal(139.7, 35.6), "places.csv: row 103 (counted from 1) has the latitude 139.7 degrees"));
  CHECK(has(refusal(139.7, 35.6), "if the longitude comes first, exchange the columns (--columns"));
  CHECK(has(refusal(-90.00001, 170.0), "expected -90 to 90"));
  CHECK(has(refusal(35.6, 361.0), "the longitude 361 degrees; expected -360 to 360"));
  CHECK(refusal(-90.0, 360.0).empty());
  CHECK_FALSE(refusal(NAN, 1.0).empty());
  places(2, 0) = NAN;
  write_places(std::as_const(places).view(), points.view(), {"places.csv", 0}, true);
  CHECK(std::isnan(points(2, 0) + points(2, 1) + points(2, 2)));
  CHECK(std::isfinite(points(3, 0)));
}
