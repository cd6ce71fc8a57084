// Places on a sphere: latitude and longitude in degrees as points of the unit sphere, and chords as distances in km.
//
// A place becomes u = (cos(lat) cos(lon), cos(lat) sin(lon), sin(lat)); the neighbours of u by the Euclidean distance
// of float64 are those of the place on the sphere, since an arc grows with its chord. Sines and cosines are computed
// here, by exact reduction and series of pairs of float64, from additions, multiplications and fma alone, so that they
// have the same bits on every machine. docs/contract.md, Places.
#pragma once

#include <cstdint>

#include "core/numbers/metric.h"
#include "core/points/matrix.h"

namespace kith {

/// The mean radius R1 of the Earth in km: H. Moritz: Geodetic Reference System 1980 (2000), adopted by the IUGG.
inline constexpr double kEarthRadius = 6371.0088;
inline constexpr std::int64_t kPlaceColumns = 3;

struct SineCosine {
  double sine, cosine;
};
/// Of an angle in degrees, |degrees| <= 2^20. Both are within 0.5 + 2^-40 units in the last place of the exact value,
/// and exact for multiples of 90.
SineCosine sine_cosine(double degrees);

/// Writes the points (n, 3) of places (n, 2), latitude and longitude in degrees. Throws Error(data) naming the first
/// row whose latitude is not from -90 to 90 or whose longitude is not from -360 to 360. drops: rows with NaN or
/// infinity become NaN instead.
template <class T>
void write_places(MatrixView<const T> places, MatrixView<double> out, const RowPlace& place, bool drops = false);

/// The distance in km on the sphere of points with the squared chord D, 2 R asin(sqrt(D) / 2). It never falls while D
/// grows.
double great_circle(double d);

/// The largest D whose great_circle() is at most this many km, which are 0 or more.
double chord_within(double kilometers);

}  // namespace kith
