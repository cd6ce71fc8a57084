// The plane of the first two principal components, for pictures of centroids and samples; PCA for small matrices.
#pragma once

#include <array>
#include <vector>

#include "core/points/matrix.h"

namespace kith {

struct PrincipalPlane {
  std::vector<double> centre;     // (d) the mean of the rows
  Matrix<double> axes;            // (2, d) unit vectors by decreasing variance; the second is 0 if there is none
  std::array<double, 2> share{};  // fraction of the total variance along each axis
};

/// The plane of the rows (m, d), m >= 1, by orthogonal iteration with four vectors (H. Rutishauser: Computational
/// aspects of F. L. Bauer's simultaneous iteration method, 1969). The axes are precise if their variances differ
/// clearly, and good enough for a picture otherwise. Sums have a fixed order, so every machine gets the same bits. The
/// largest entry of an axis is positive. Costs about 500 m d operations.
PrincipalPlane principal_plane(MatrixView<const double> rows);

/// The coordinates of a row (d) in the plane.
std::array<double, 2> project(const PrincipalPlane& plane, const double* row);

}  // namespace kith
