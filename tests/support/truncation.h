// Vectors whose products are lost, one sign at a time, if tensor cores align the products of a step to the largest and
// truncate.
#pragma once

#include <cstdint>

#include "core/points/matrix.h"

namespace kith::test {

struct VectorSizes {
  std::int64_t count, d;
};

/// Every value is a multiple of 2^-24, at most 1, and exact in fp16 (IEEE binary16).
///
/// Rows: a large value in one column (every column of a step of 16, early and late), with other values whose products
/// are near the last bit of the large product. Some rows have a second large value that cancels the first; in others
/// the values grow or shrink along the row, or all have about the same size.
Matrix<double> truncating_rows(VectorSizes sizes);

/// Centroids for those rows: the same large values, and the small values times 0 to 2. The nearest centroid depends on
/// small products only, and the centroid without any gains from every product that is lost.
Matrix<double> truncating_centroids(VectorSizes sizes);

}  // namespace kith::test
