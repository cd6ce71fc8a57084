// The metrics, and rows of length 1: cosine is Euclidean distance between directions.
//
// A row x becomes u = x / |x| before anything else is done; after that every rule is the Euclidean one, on u. Centroids
// are scaled to length 1 after every update, which maximises the sum of cosines to the rows of a cluster: I. S. Dhillon
// and D. S. Modha, Concept decompositions for large sparse text data using clustering (2001). docs/contract.md, Cosine.
#pragma once

#include <cstdint>
#include <string>

#include "core/matrix.h"
#include "core/measure.h"

namespace kith {

/// The last three are for neighbours and distances alone: the mean of some rows is not what is nearest to all of them.
enum class Metric { euclidean, cosine, inner_product, manhattan, chebyshev };
const char* name_of(Metric metric);
/// What D is, of rows that are scaled as the metric asks.
Measure measure_of(Metric metric);

/// A row of length 1 that was rounded to its class lies within the square root of this of the centroid that has its
/// direction: such a row is on its centroid.
inline constexpr double kUnitRounding = 0x1p-46;

/// What error messages say about a block of rows.
struct RowPlace {
  std::string name;                         // of the data set
  std::int64_t first_row = 0;               // the number of row 0 in the data set
  const char* purpose = "cosine distance";  // what needs rows that are not zero
};

/// Scales every row (n, d) in place to x_j / sqrt(dot(x, x)), in float64, rounded to T. Throws Error(data) with the
/// first row that has no direction (all values 0) or whose squared length leaves the range of float64.
template <class T>
void normalize_rows(MatrixView<T> rows, const RowPlace& place);

/// Scales given centroids (k, d) to length 1; errors as for rows. One whose length is within 2^-40 of 1 is kept, so
/// that scaling again changes nothing.
void normalize_centroids(MatrixView<double> centroids, const std::string& name);

/// The same for means (k, d): one without a direction, of rows that cancel, becomes that of `before` (k, d).
void normalize_means(MatrixView<double> means, MatrixView<const double> before);

}  // namespace kith
