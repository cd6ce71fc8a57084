// Metrics, and the normalisation of rows to length 1: cosine is Euclidean distance between directions.
//
// Each row x is replaced by its direction u = x / |x| in float64; all Euclidean rules then apply to u. Centroids are
// normalised after every update, which maximises the sum of cosines to the rows of a cluster (spherical k-means): I. S.
// Dhillon, D. S. Modha: Concept decompositions for large sparse text data using clustering (2001). For correlation, the
// mean of the row is taken off each of its values before. docs/contract.md, Cosine.
#pragma once

#include <cstdint>
#include <string>

#include "core/numbers/distance.h"
#include "core/points/matrix.h"

namespace kith {

/// Correlation is the cosine of rows less their means. Means of rows minimise the sum of euclidean, cosine and
/// correlation over rows; the others serve neighbours and distances only. Hamming and jaccard compare rows of bits.
/// Haversine is of places: the rows are latitude and longitude, and those that are compared are points of the unit
/// sphere (core/numbers/places.h).
enum class Metric { euclidean, cosine, inner_product, manhattan, chebyshev, hamming, jaccard, correlation, haversine };
inline constexpr Metric kMetrics[] = {Metric::euclidean, Metric::cosine,      Metric::inner_product,
                                      Metric::manhattan, Metric::chebyshev,   Metric::hamming,
                                      Metric::jaccard,   Metric::correlation, Metric::haversine};
const char* name_of(Metric metric);
/// The measure that computes D for a metric, on the rows that the metric makes of those of the file.
Measure measure_of(Metric metric);
/// Whether D is between rows scaled to length 1, and centroids are scaled so too.
inline bool takes_directions(Metric metric) { return metric == Metric::cosine || metric == Metric::correlation; }
/// Whether k-means minimises it.
inline bool has_means(Metric metric) { return metric == Metric::euclidean || takes_directions(metric); }

/// What error messages say about a block of rows.
struct RowPlace {
  std::string name;                         // of the data set
  std::int64_t first_row = 0;               // the number of row 0 in the data set
  const char* purpose = "cosine distance";  // what needs rows that are not zero
  const char* remedy = "remove the row";    // for a row of zeros
};

struct DirectionRule {
  bool drops = false;     // rows without a direction, and rows with NaN or infinity, become NaN
  bool deviates = false;  // the direction is that of the row less the mean of its values
};

/// Writes the direction of each row (n, d), out_j = x_j s with s = 1 / sqrt(dot(x, x)), each operation rounded once to
/// float64; with DirectionRule::deviates, x_j is first replaced by x_j - m, where m is the sum of the row in the order
/// of the definition, divided by d. `out` may be the rows themselves. Throws Error(data) naming the first row without a
/// direction (of zeros, or of equal values if the mean is taken off) or whose squared length leaves the range of
/// float64. Returns the number of rows without a direction.
template <class T>
std::int64_t write_directions(MatrixView<const T> rows, MatrixView<double> out, const RowPlace& place,
                              const DirectionRule& rule = {});

/// For --scale unit: replaces each row (n, d) by x_j / sqrt(dot(x, x)), computed in float64 and rounded to T. Throws
/// what write_directions() throws, and Error(internal) for bytes, which cannot hold such rows.
template <class T>
void normalize_rows(MatrixView<T> rows, const RowPlace& place);

/// Normalises given centroids (k, d); errors as for rows. A centroid whose length is within 2^-40 of 1 stays unchanged,
/// so normalising twice gives the same bits. name: of the centroids, for messages.
void normalize_centroids(MatrixView<double> centroids, const std::string& name);

/// Normalises means (k, d). A mean without direction, whose rows cancel, becomes the centroid of `before` (k, d).
void normalize_means(MatrixView<double> means, MatrixView<const double> before);

}  // namespace kith
