// Sines and cosines by series of pairs of float64, and arcs by a polynomial.
//
// Pairs: T. J. Dekker: A floating-point technique for extending the available precision (1971). The coefficients below
// are those of Taylor, each as a pair, and of a polynomial through the Chebyshev nodes.
#include "core/numbers/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

namespace kith {
namespace {

std::string in_lower_case(const std::string& name) {
  std::string text;
  for (const char c : name) text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// The last word of a column's name that is no unit of degrees, in lower case: "lat" of "Stop_Lat (deg)".
std::string last_word(const std::string& name) {
  constexpr std::string_view kUnits[] = {"deg", "degree", "degrees", "dd", "decimal", "wgs84"};
  std::string last, word;
  for (const char c : in_lower_case(name) + ' ') {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
      continue;
    }
    if (!word.empty() && std::ranges::find(kUnits, word) == std::end(kUnits)) last = word;
    word.clear();
  }
  return last;
}

/// high + low, |low| <= half a unit in the last place of high.
struct Pair {
  double high, low;
};

constexpr Pair kRadian{0x1.1df46a2529d39p-6, 0x1.5c1d8becdd291p-62};   // pi / 180
constexpr Pair kQuarter{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};  // pi / 2

/// (-1)^k / (2k + 1)!
constexpr Pair kSine[] = {
    {0x1.0000000000000p+0, 0.0},
    {-0x1.5555555555555p-3, -0x1.5555555555555p-57},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {-0x1.a01a01a01a01ap-13, -0x1.a01a01a01a01ap-73},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {-0x1.ae64567f544e4p-26, 0x1.c062e06d1f209p-80},
    {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
    {-0x1.ae7f3e733b81fp-41, -0x1.1d8656b0ee8cbp-97},
};
constexpr double kSineTail[] = {0x1.952c77030ad4ap-49,  -0x1.2f49b46814157p-57, 0x1.71b8ef6dcf572p-66,
                                -0x1.761b41316381ap-75, 0x1.3f3ccdd165fa9p-84,  -0x1.d1ab1c2dccea3p-94,
                                0x1.259f98b4358adp-103};
/// (-1)^k / (2k)!
constexpr Pair kCosine[] = {
    {0x1.0000000000000p+0, 0.0},
    {-0x1.0000000000000p-1, 0.0},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {-0x1.6c16c16c16c17p-10, 0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {-0x1.27e4fb7789f5cp-22, -0x1.cbbc05b4fa99ap-76},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
    {-0x1.93974a8c07c9dp-37, -0x1.05d6f8a2efd1fp-92},
};
constexpr double kCosineTail[] = {0x1.ae7f3e733b81fp-45,  -0x1.6827863b97d97p-53, 0x1.e542ba4020225p-62,
                                  -0x1.0ce396db7f853p-70, 0x1.f2cf01972f578p-80,  -0x1.88e85fc6a4e5ap-89,
                                  0x1.0a18a2635085dp-98};

/// (asin(s) / s - 1) / z for z = s^2 from 0 to 1/4, within 2^-58 / z.
constexpr double kArc[] = {0x1.5555555555555p-3,  0x1.3333333333388p-4, 0x1.6db6db6dac1e0p-5, 0x1.f1c71c7a52ba3p-6,
                           0x1.6e8ba123e494cp-6,  0x1.1c4efce23019fp-6, 0x1.c990ad3d8fdcap-7, 0x1.7b027ee1dd585p-7,
                           0x1.3b49de7121487p-7,  0x1.31622469ce5adp-7, 0x1.8f193743418ffp-9, 0x1.406192d124629p-6,
                           -0x1.3b416bb7d9257p-6, 0x1.e529c6fce9bb4p-6};

/// a + b for |a| >= |b|.
inline Pair ordered_sum(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}

inline Pair product(Pair a, Pair b) {
  const double high = a.high * b.high;
  return ordered_sum(high, std::fma(a.high, b.low, std::fma(a.low, b.high, std::fma(a.high, b.high, -high))));
}

/// a + b for |a| >= |b|.
inline Pair sum(Pair a, Pair b) {
  const Pair s = ordered_sum(a.high, b.high);
  return ordered_sum(s.high, s.low + (a.low + b.low));
}

/// The sum of coefficients times powers of z, the higher ones, which are small, in float64.
template <std::size_t n, std::size_t m>
inline Pair series(const Pair (&leading)[n], const double (&tail)[m], Pair z) {
  double rest = tail[m - 1];
  for (std::size_t k = m - 1; k-- > 0;) rest = std::fma(rest, z.high, tail[k]);
  Pair value{rest, 0.0};
  for (std::size_t k = n; k-- > 0;) value = sum(leading[k], product(z, value));
  return value;
}

/// Every step but the last has an error below 2^-95 of the result, which the last one rounds to float64.
inline SineCosine sine_cosine_of(double degrees) {
  const double quarters = std::floor(degrees / 90.0 + 0.5);
  const double rest = degrees - 90.0 * quarters;  // exact: the difference of two numbers within a factor of 2
  const Pair angle = product({rest, 0.0}, kRadian), z = product(angle, angle);
  const double sine = product(angle, series(kSine, kSineTail, z)).high, cosine = series(kCosine, kCosineTail, z).high;
  switch (static_cast<int>(quarters) & 3) {  // 0.0 - x is never -0
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, 0.0 - sine};
    case 2:
      return {0.0 - sine, 0.0 - cosine};
    default:
      return {0.0 - cosine, sine};
  }
}

/// Returns the number of the first row that is no place, or that of the rows.
template <class T>
std::int64_t points_of_places(MatrixView<const T> places, MatrixView<double> out, bool drops) {
  for (std::int64_t i = 0; i < places.rows; ++i) {
    const auto latitude = static_cast<double>(places(i, 0)), longitude = static_cast<double>(places(i, 1));
    const bool is_place = std::abs(latitude) <= 90.0 && std::abs(longitude) <= 360.0;
    if (!is_place && !(drops && !(std::isfinite(latitude) && std::isfinite(longitude)))) return i;
    const SineCosine of_latitude = is_place ? sine_cosine_of(latitude) : SineCosine{};
    const SineCosine of_longitude = is_place ? sine_cosine_of(longitude) : SineCosine{};
    out(i, 0) = of_latitude.cosine * of_longitude.cosine;
    out(i, 1) = of_latitude.cosine * of_longitude.sine;
    out(i, 2) = of_latitude.sine;
    if (!is_place) std::fill_n(out.row(i).data(), kPlaceColumns, std::numeric_limits<double>::quiet_NaN());
  }
  return places.rows;
}

template <class T>
using PointsOfPlaces = std::int64_t (*)(MatrixView<const T> places, MatrixView<double> out, bool drops);

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"), flatten)) std::int64_t points_with_fma(MatrixView<const T> places,
                                                                          MatrixView<double> out, bool drops) {
  return points_of_places(places, out, drops);
}
#endif

/// Without the instruction, each fma of a program for any processor is a call.
template <class T>
PointsOfPlaces<T> chosen_points_of_places() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return points_with_fma<T>;
#endif
  return points_of_places<T>;
}

template <class T>
[[noreturn]] void refuse_place(std::span<T> row, const RowPlace& place) {
  const auto latitude = static_cast<double>(row[0]), longitude = static_cast<double>(row[1]);
  const bool is_latitude = std::abs(latitude) <= 90.0, may_be_swapped = !is_latitude && std::abs(longitude) <= 90.0;
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 1) has the {} {} degrees; expected {} for --metric haversine; {}",
                          place.name, place.first_row + 1, is_latitude ? "longitude" : "latitude",
                          is_latitude ? longitude : latitude, is_latitude ? "-360 to 360" : "-90 to 90",
                          may_be_swapped ? "if the longitude comes first, exchange the columns (--columns "
                                           "LATITUDE,LONGITUDE gives their order); else correct the row"
                                         : "correct the row"));
}

/// asin(s) for s from 0 to 1/2. Before the last addition it has an error below 2^-55 of s, and asin grows at least as s
/// does, of which the next number is at least 2^-53 of s larger: so the rounded sum never falls while s grows.
inline double arc_of(double s) {
  const double z = s * s;
  double p = kArc[std::size(kArc) - 1];
  for (std::size_t k = std::size(kArc) - 1; k-- > 0;) p = p * z + kArc[k];
  return s + s * (z * p);
}

}  // namespace

SineCosine sine_cosine(double degrees) { return sine_cosine_of(degrees); }

template <class T>
void write_places(MatrixView<const T> places, MatrixView<double> out, const RowPlace& place, bool drops) {
  const std::int64_t row = chosen_points_of_places<T>()(places, out, drops);
  if (row < places.rows)
    refuse_place(places.row(row), {place.name, place.first_row + row, place.purpose, place.remedy});
}

template void write_places(MatrixView<const float>, MatrixView<double>, const RowPlace&, bool);
template void write_places(MatrixView<const double>, MatrixView<double>, const RowPlace&, bool);

template <class T>
bool exceed_radians(MatrixView<const T> places) {
  constexpr double kMostLatitude = 1.571, kMostLongitude = 3.142;
  for (std::int64_t i = 0; i < places.rows; ++i) {
    if (std::abs(static_cast<double>(places(i, 0))) > kMostLatitude) return true;
    if (std::abs(static_cast<double>(places(i, 1))) > kMostLongitude) return true;
  }
  return false;
}

template bool exceed_radians(MatrixView<const float>);
template bool exceed_radians(MatrixView<const double>);

const char* const kLikeRadians =
    "no latitude is beyond 1.571 and no longitude beyond 3.142, as if they were radians; kith takes degrees, which are "
    "radians x 57.29577951";

const std::array<PlaceAngle, 2>& place_angles() {
  // "decimalLatitude" is Darwin Core's, "stop_lat" that of GTFS.
  static const std::array<PlaceAngle, 2> kAngles{
      PlaceAngle{"latitude", {"lat", "latitude", "decimallatitude"}},
      PlaceAngle{"longitude", {"lon", "lng", "long", "longitude", "decimallongitude"}}};
  return kAngles;
}

std::vector<std::int64_t> columns_named(const PlaceAngle& angle, const std::vector<std::string>& names) {
  std::vector<std::int64_t> whole, by_last_word;
  for (std::size_t j = 0; j < names.size(); ++j) {
    for (auto* found : {&whole, &by_last_word}) {
      const std::string name = found == &whole ? in_lower_case(names[j]) : last_word(names[j]);
      if (std::ranges::find(angle.known, name) != angle.known.end()) found->push_back(static_cast<std::int64_t>(j));
    }
  }
  return whole.empty() ? by_last_word : whole;
}

double great_circle(double d) {
  // Each step never falls while D grows, so the whole does not: square roots and differences are rounded once.
  const double s = std::min(0.5 * std::sqrt(d), 1.0);
  const double arc = s <= 0.5 ? arc_of(s) : (kQuarter.high - 2.0 * arc_of(std::sqrt(0.5 * (1.0 - s)))) + kQuarter.low;
  return 2.0 * kEarthRadius * arc;
}

double chord_within(double kilometers) {
  std::uint64_t within = 0, beyond = std::bit_cast<std::uint64_t>(8.0);  // no chord of the sphere is that long
  if (great_circle(8.0) <= kilometers) return 8.0;
  while (beyond - within > 1) {  // numbers above 0 ascend as their bits do
    const std::uint64_t middle = within + (beyond - within) / 2;
    (great_circle(std::bit_cast<double>(middle)) <= kilometers ? within : beyond) = middle;
  }
  return std::bit_cast<double>(within);
}

}  // namespace kith
