// Scales rows and centroids to length 1.
#include "core/numbers/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace kith {
namespace {

constexpr double kSmallest = std::numeric_limits<double>::min();  // smaller squares have lost digits

/// Whether a row of this squared length can be normalised.
bool has_direction(double squares) { return squares >= kSmallest && std::isfinite(squares); }

/// The mean of the values of a row (d), added in the lanes and the tree of the definition.
template <class T>
double mean_of(const T* x, std::int64_t d) {
  double lane[kLanes] = {};
  for (std::int64_t j = 0; j < d; ++j) lane[j % kLanes] += static_cast<double>(x[j]);
  for (int w = kLanes / 2; w > 0; w /= 2) {
    for (int l = 0; l < w; ++l) lane[l] += lane[l + w];
  }
  return lane[0] / static_cast<double>(d);
}

template <class T>
bool is_constant(std::span<T> row) {
  return std::all_of(row.begin(), row.end(), [&](T x) { return x == row.front(); });
}

/// Writes the direction of a row (d), or of its deviations from its mean, if there is one. Returns the squared length.
/// Equal values deviate by nothing, although their rounded mean may differ from them.
template <class T>
double direction(const T* x, std::int64_t d, double* out, bool deviates) {
  if (deviates && is_constant(std::span(x, static_cast<std::size_t>(d)))) return 0.0;
  const double mean = deviates ? mean_of(x, d) : 0.0;
  const double squares = sum_of_squares(d, [&](std::int64_t j) { return static_cast<double>(x[j]) - mean; });
  if (!has_direction(squares)) return squares;
  const double s = 1.0 / std::sqrt(squares);
  for (std::int64_t j = 0; j < d; ++j) out[j] = (static_cast<double>(x[j]) - mean) * s;
  return squares;
}

template <class T>
using WriteDirection = double (*)(const T* x, std::int64_t d, double* out, bool deviates);

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2,fma"), flatten)) double direction_with_fma(const T* x, std::int64_t d, double* out,
                                                                       bool deviates) {
  return direction(x, d, out, deviates);
}
#endif

/// Without the instruction, each fma of a program for any processor is a call.
template <class T>
WriteDirection<T> direction_of_rows() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return direction_with_fma<T>;
#endif
  return direction<T>;
}

template <class T>
void scale(std::span<T> row, double length) {
  for (T& x : row) x = static_cast<T>(static_cast<double>(x) / length);
}

template <class T>
bool is_zero(std::span<T> row) {
  return std::all_of(row.begin(), row.end(), [](T x) { return x == T{0}; });
}

template <class T>
[[noreturn]] void refuse(std::span<T> row, const RowPlace& place, bool deviates = false) {
  if (deviates && is_constant(row)) {
    throw Error(ExitCode::data, fmt::format("{}: row {} (counted from 1) has the value {} in all columns, and no "
                                            "correlation; expected rows whose values differ for {}; {}",
                                            place.name, place.first_row + 1, row.front(), place.purpose, place.remedy));
  }
  if (is_zero(row)) {
    throw Error(
        ExitCode::data,
        fmt::format("{}: row {} (counted from 1) is zero and has no direction; expected rows with a value other "
                    "than 0 for {}; {}",
                    place.name, place.first_row + 1, place.purpose, place.remedy));
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
  constexpr const char* kNames[] = {"euclidean", "cosine",  "inner-product", "manhattan", "chebyshev",
                                    "hamming",   "jaccard", "correlation",   "haversine"};
  return kNames[static_cast<int>(metric)];
}

Measure measure_of(Metric metric) {
  constexpr Measure kSquares = Measure::squared_euclidean;
  constexpr Measure kMeasures[] = {kSquares,           kSquares,           Measure::inner_product,
                                   Measure::manhattan, Measure::chebyshev, Measure::hamming,
                                   Measure::jaccard,   kSquares,           kSquares};
  static_assert(std::size(kMeasures) == std::size(kMetrics));
  return kMeasures[static_cast<int>(metric)];
}

template <class T>
std::int64_t write_directions(MatrixView<const T> rows, MatrixView<double> out, const RowPlace& place,
                              const DirectionRule& rule) {
  const WriteDirection<T> write = direction_of_rows<T>();
  std::int64_t without = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::span<const T> row = rows.row(i);
    const double squares = write(row.data(), rows.columns, out.row(i).data(), rule.deviates);
    if (has_direction(squares)) continue;
    const bool is_missing = !std::all_of(row.begin(), row.end(), [](T x) { return std::isfinite(x); });
    const bool has_none = rule.deviates ? is_constant(row) : is_zero(row);
    if (!rule.drops || !(is_missing || has_none))
      refuse(row, {place.name, place.first_row + i, place.purpose, place.remedy}, rule.deviates);
    std::fill(out.row(i).begin(), out.row(i).end(), std::numeric_limits<double>::quiet_NaN());
    without += is_missing ? 0 : 1;
  }
  return without;
}

template std::int64_t write_directions(MatrixView<const float>, MatrixView<double>, const RowPlace&,
                                       const DirectionRule&);
template std::int64_t write_directions(MatrixView<const double>, MatrixView<double>, const RowPlace&,
                                       const DirectionRule&);

template <class T>
void normalize_rows(MatrixView<T> rows, const RowPlace& place) {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const double squares = squared_length(rows.row(i).data(), rows.columns);
      if (!has_direction(squares))
        refuse(rows.row(i), RowPlace{place.name, place.first_row + i, place.purpose, place.remedy});
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
