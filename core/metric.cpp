// Normalises rows and centroids to length 1.
#include "core/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/distance.h"

namespace kith {
namespace {

constexpr double kSmallest = std::numeric_limits<double>::min();  // smaller squares have lost digits

/// Whether a row of this squared length can be normalised.
bool has_direction(double squares) { return squares >= kSmallest && std::isfinite(squares); }

template <class T>
void scale(std::span<T> row, double length) {
  for (T& x : row) x = static_cast<T>(static_cast<double>(x) / length);
}

template <class T>
[[noreturn]] void refuse(std::span<T> row, const RowPlace& place) {
  const bool is_zero = std::all_of(row.begin(), row.end(), [](T x) { return x == T{0}; });
  if (is_zero) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: row {} (counted from 1) is zero and has no direction; expected rows with a value other "
                    "than 0 for {}; remove the row",
                    place.name, place.first_row + 1, place.purpose));
  }
  throw Error(ExitCode::data,
              fmt::format("{}: the squared length of row {} (counted from 1) leaves the range of float64; expected "
                          "lengths from 1e-153 to 1e153 for {}; scale the row",
                          place.name, place.first_row + 1, place.purpose));
}

/// Normalises a centroid. Returns false if it has no direction.
bool scale_centroid(std::span<double> centroid) {
  constexpr double kNearOne = 0x1p-40;  // far above rounding errors, too small to change labels
  const double squares = squared_length(centroid.data(), static_cast<std::int64_t>(centroid.size()));
  if (!has_direction(squares)) return false;
  const double length = std::sqrt(squares);
  if (!(std::abs(length - 1) <= kNearOne)) scale(centroid, length);
  return true;
}

}  // namespace

const char* name_of(Metric metric) {
  switch (metric) {
    case Metric::cosine:
      return "cosine";
    case Metric::inner_product:
      return "inner-product";
    case Metric::manhattan:
      return "manhattan";
    case Metric::chebyshev:
      return "chebyshev";
    default:
      return "euclidean";
  }
}

Measure measure_of(Metric metric) {
  switch (metric) {
    case Metric::inner_product:
      return Measure::inner_product;
    case Metric::manhattan:
      return Measure::manhattan;
    case Metric::chebyshev:
      return Measure::chebyshev;
    default:
      return Measure::squared_euclidean;
  }
}

template <class T>
void normalize_rows(MatrixView<T> rows, const RowPlace& place) {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const double squares = squared_length(rows.row(i).data(), rows.columns);
      if (!has_direction(squares)) refuse(rows.row(i), RowPlace{place.name, place.first_row + i, place.purpose});
      scale(rows.row(i), std::sqrt(squares));
    }
  } else {
    throw Error(ExitCode::internal, place.name + ": cannot scale rows that are held as bytes to length 1");
  }
}

#define KITH_INSTANTIATE(T) template void normalize_rows(MatrixView<T>, const RowPlace&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

void normalize_centroids(MatrixView<double> centroids, const std::string& name) {
  for (std::int64_t c = 0; c < centroids.rows; ++c) {
    if (!scale_centroid(centroids.row(c))) refuse(centroids.row(c), RowPlace{name, c});
  }
}

void normalize_means(MatrixView<double> means, MatrixView<const double> before) {
  for (std::int64_t c = 0; c < means.rows; ++c) {
    if (!scale_centroid(means.row(c))) std::copy(before.row(c).begin(), before.row(c).end(), means.row(c).begin());
  }
}

}  // namespace kith
