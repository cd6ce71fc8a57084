// Places on a sphere: latitude and longitude in degrees as points of the unit sphere, and chords as distances in km.
//
// A place becomes u = (cos(lat) cos(lon), cos(lat) sin(lon), sin(lat)); the neighbours of u by the Euclidean distance
// of float64 are those of the place on the sphere, since an arc grows with its chord. Sines and cosines are computed
// here, by exact reduction and series of pairs of float64, from additions, multiplications and fma alone, so that they
// have the same bits on every machine. docs/contract.md, Places.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/numbers/metric.h"
#include "core/points/matrix.h"

namespace kith {

/// The mean radius R1 of the Earth in km: H. Moritz: Geodetic Reference System 1980 (2000), adopted by the IUGG.
inline constexpr double kEarthRadius = 6371.0088;
inline constexpr std::int64_t kPlaceColumns = 3;

struct SineCosine {
  double sine, cosine;
};
/// The sine and cosine of an angle in degrees, |degrees| <= 2^20. Both are within 0.5 + 2^-40 units in the last place
/// of the exact value, and exact for multiples of 90.
SineCosine sine_cosine(double degrees);

/// Writes the points (n, 3) of places (n, 2), latitude and longitude in degrees. Throws Error(data) naming the first
/// row whose latitude is not from -90 to 90 or whose longitude is not from -360 to 360. drops: rows with NaN or
/// infinity become NaN instead.
template <class T>
void write_places(MatrixView<const T> places, MatrixView<double> out, const RowPlace& place, bool drops = false);

/// Whether a place is farther from the equator or from Greenwich than it could be in radians.
template <class T>
bool exceed_radians(MatrixView<const T> places);
/// What is said of at least kFewPlaces of which none is; fewer may be anywhere.
extern const char* const kLikeRadians;
inline constexpr std::int64_t kFewPlaces = 4;

/// An angle of places, and how its column may be named.
struct PlaceAngle {
  const char* name;
  std::vector<std::string> known;
};
/// Latitude and longitude.
const std::array<PlaceAngle, 2>& place_angles();
/// The columns, from 0, that are named as this angle is: by the whole name, else by its last word.
std::vector<std::int64_t> columns_named(const PlaceAngle& angle, const std::vector<std::string>& names);

/// The distance in km on the sphere of points with the squared chord D, 2 R asin(sqrt(D) / 2). It never falls while D
/// grows.
double great_circle(double d);

/// The largest D whose great_circle() is at most this many km, which are 0 or more.
double chord_within(double kilometers);

}  // namespace kith
