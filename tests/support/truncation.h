// Vectors whose products with each other are lost, one sign at a time, where tensor cores align to the largest and
// truncate.
#pragma once

#include <cstdint>

#include "core/matrix.h"

namespace kith::test {

struct VectorSizes {
  std::int64_t count, d;
};

/// Every value is a multiple of 2^-24, at most 1, and exactly a half (IEEE binary16).
///
/// Rows: a large value in one place (every place of a step of 16, early and late), beside it values whose products with
/// each other lie about the last bit of the large product; some with a second large value that cancels the first, some
/// with values that grow or shrink from place to place, or all of about the same size.
Matrix<double> truncating_rows(VectorSizes sizes);

/// Centroids for those rows: the same large values, the small ones 0 to 2 times as large. Which of them is nearest to a
/// row depends on small products only, and the one with none of them gains from every product that is lost.
Matrix<double> truncating_centroids(VectorSizes sizes);

}  // namespace kith::test
