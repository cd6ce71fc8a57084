// Principal component analysis (PCA), and projection of rows onto the components.
//
// K. Pearson: On lines and planes of closest fit to systems of points in space (1901). The d x d scatter matrix costs
// O(n d^2). It is summed in an order that depends on the number of rows only, so threads cannot change a bit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/points/matrix.h"
#include "core/points/row_reader.h"

namespace kith {

class Threads;

struct PrincipalComponents {
  std::vector<double> mean;            // (d) means of the columns
  Matrix<double> components;           // (D, d) unit vectors by decreasing variance; the largest entry is positive
  std::vector<double> variance;        // (D) variance along each component, with divisor n - 1 as in scikit-learn
  std::vector<double> variance_ratio;  // (D) fraction of the total variance
  std::int64_t size() const { return components.rows(); }
};

/// The first `count` components of the rows (n, d), 1 <= count <= min(n, d). Takes d x d float64 for each of up to 32
/// partitions of the rows, and more for the eigenvectors. Takes three passes. Throws Error(data) if products leave the
/// range of float64.
PrincipalComponents principal_components(const RowBlocks& blocks, std::int64_t count, Threads& threads);
/// The host bytes that principal_components() takes for n rows of d columns.
std::int64_t principal_components_bytes(std::int64_t rows, std::int64_t columns);

/// Replaces each row (n, d) by its coordinates y_c = sum over j of (x_j - mean_j) w_cj, j ascending, computed in
/// float64 and rounded to T (float or double). The matrix becomes (n, D) in the same memory.
template <class T>
void project(Matrix<T>& values, const PrincipalComponents& pca, Threads& threads);

/// Maps coordinates (m, D) back to points (m, d): mean_j + sum over c of y_c w_cj.
Matrix<double> back_projected(MatrixView<const double> points, const PrincipalComponents& pca);

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
