// Principal components: the directions in which rows spread most, and rows seen along them.
//
// K. Pearson: On lines and planes of closest fit to systems of points in space (1901). The products of the columns are
// summed in a fixed order of the rows, which depends on their number alone; so threads cannot change a bit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/workers.h"

namespace kith {

struct PrincipalComponents {
  std::vector<double> mean;            // (d) of the columns
  Matrix<double> components;           // (D, d) of length 1, largest variance first; their largest value is positive
  std::vector<double> variance;        // (D) explained by each, divided by n - 1 as scikit-learn's PCA does
  std::vector<double> variance_ratio;  // (D) its share of the variance of all columns
  std::int64_t size() const { return components.rows(); }
};

/// The first `count` components of the rows (n, d), 1 <= count <= min(n, d). Takes d x d float64 for each of up to 32
/// runs of rows, and more for the eigenvectors. Throws Error(data) when products leave the range of float64.
PrincipalComponents principal_components(PointsView values, std::int64_t count, const Workers& workers);
/// Host bytes that finding them takes, for n rows of d columns.
std::int64_t principal_components_bytes(std::int64_t rows, std::int64_t columns);

/// Replaces every row (n, d) by its places along the components, y_c = sum over j of (x_j - mean_j) w_cj, j ascending,
/// in float64, rounded to the class at the end; the matrix is (n, D) then, in the same memory. T: float or double.
template <class T>
void project(Matrix<T>& values, const PrincipalComponents& pca, const Workers& workers);

/// Points (m, D) along the components as points (m, d) of the columns: mean_j + sum over c of y_c w_cj.
Matrix<double> back_projected(MatrixView<const double> points, const PrincipalComponents& pca);

}  // namespace kith
