// The plane in which rows spread most: the first two principal components, for pictures.
#pragma once

#include <array>
#include <vector>

#include "core/matrix.h"

namespace kith {

struct PrincipalPlane {
  std::vector<double> centre;     // (d) the mean of the rows
  Matrix<double> axes;            // (2, d) of length 1, the widest first; the second is 0 where there is none
  std::array<double, 2> share{};  // of the variance of the rows, along each axis
};

/// Of the rows (m, d), m >= 1, by orthogonal iteration with four vectors (H. Rutishauser: Computational aspects of F.
/// L. Bauer's simultaneous iteration method, 1969). The directions are good enough to be looked at where the spreads
/// along several axes are nearly equal, and precise where they are not. All sums are taken in one order, so that every
/// machine finds the same bits; an axis points to where its largest value is positive. Costs about 500 m d operations.
PrincipalPlane principal_plane(MatrixView<const double> rows);

/// Where a row (d) lies in it.
std::array<double, 2> project(const PrincipalPlane& plane, const double* row);

}  // namespace kith
