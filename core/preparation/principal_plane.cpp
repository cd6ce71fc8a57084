// Orthogonal iteration for the two leading eigenvectors; their variances are Rayleigh quotients.
#include "core/preparation/principal_plane.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

constexpr std::int64_t kVectors = 4;  // two that are requested, and two that speed up convergence
constexpr int kMaxRounds = 60;

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < count; ++j) sum += a[j] * b[j];
  return sum;
}

/// Orthonormalises the vectors (q, d) in order (Gram-Schmidt); linearly dependent vectors become 0.
void orthogonalise(MatrixView<double> vectors) {
  for (std::int64_t a = 0; a < vectors.rows; ++a) {
    const auto row = vectors.row(a);
    const double before = std::sqrt(dot(row.data(), row.data(), vectors.columns));
    // Repeat once to remove the rounding errors of the first pass.
    for (int time = 0; time < 2; ++time) {
      for (std::int64_t b = 0; b < a; ++b) {
        const double along = dot(row.data(), vectors.row(b).data(), vectors.columns);
        for (std::int64_t j = 0; j < vectors.columns; ++j) row[j] -= along * vectors(b, j);
      }
    }
    const double length = std::sqrt(dot(row.data(), row.data(), vectors.columns));
    const bool is_lost = !(length > 1e-12 * before);
    for (double& value : row) value = is_lost ? 0.0 : value / length;
  }
}

/// next (q, d) = vectors (q, d) times the scatter matrix of the rows.
void multiply(MatrixView<const double> rows, const std::vector<double>& centre, MatrixView<const double> vectors,
              MatrixView<double> next) {
  std::vector<double> centred(centre.size());
  std::fill_n(next.data, next.size(), 0.0);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (std::int64_t j = 0; j < rows.columns; ++j) centred[j] = rows(i, j) - centre[j];
    for (std::int64_t a = 0; a < vectors.rows; ++a) {
      const double along = dot(centred.data(), vectors.row(a).data(), rows.columns);
      for (std::int64_t j = 0; j < rows.columns; ++j) next(a, j) += along * centred[j];
    }
  }
}

double total_spread(MatrixView<const double> rows, const std::vector<double>& centre) {
  double spread = 0.0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (std::int64_t j = 0; j < rows.columns; ++j) spread += (rows(i, j) - centre[j]) * (rows(i, j) - centre[j]);
  }
  return spread;
}

/// Flips the axis if its entry with the largest magnitude (the first of equal ones) is negative.
void fix_sign(std::span<double> axis) {
  const auto largest =
      std::max_element(axis.begin(), axis.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest >= 0.0) return;
  for (double& value : axis) value = -value;
}

}  // namespace

PrincipalPlane principal_plane(MatrixView<const double> rows) {
  const std::int64_t columns = rows.columns, vectors = std::min(kVectors, columns);
  PrincipalPlane plane{std::vector<double>(columns, 0.0), Matrix<double>(2, columns), {}};
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) plane.centre[j] += rows(i, j) / static_cast<double>(rows.rows);
  }
  // Start vectors that are unlikely to be orthogonal to any axis.
  Matrix<double> axes(vectors, columns), next(vectors, columns);
  for (std::int64_t a = 0; a < vectors; ++a) {
    for (std::int64_t j = 0; j < columns; ++j) {
      axes(a, j) =
          std::fmod(static_cast<double>(j + 1) * 0.6180339887498949 + static_cast<double>(a) * 0.37, 1.0) - 0.5;
      if (j % vectors == a) axes(a, j) += 1.0;
    }
  }
  orthogonalise(axes.view());
  for (int round = 0; round < kMaxRounds; ++round) {
    multiply(rows, plane.centre, axes.view(), next.view());
    std::swap(axes, next);
    orthogonalise(axes.view());
  }
  multiply(rows, plane.centre, axes.view(), next.view());
  const double spread = total_spread(rows, plane.centre);
  std::fill_n(plane.axes.data(), plane.axes.size(), 0.0);
  for (std::int64_t a = 0; a < std::min<std::int64_t>(vectors, 2); ++a) {
    std::copy(axes.row(a).begin(), axes.row(a).end(), plane.axes.row(a).begin());
    fix_sign(plane.axes.row(a));
    const double along = dot(axes.row(a).data(), next.row(a).data(), columns);
    plane.share[static_cast<std::size_t>(a)] = spread > 0.0 ? along / spread : 0.0;
  }
  return plane;
}

std::array<double, 2> project(const PrincipalPlane& plane, const double* row) {
  std::array<double, 2> place{};
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t j = 0; j < plane.centre.size(); ++j) {
      place[a] += plane.axes(static_cast<std::int64_t>(a), static_cast<std::int64_t>(j)) * (row[j] - plane.centre[j]);
    }
  }
  return place;
}

}  // namespace kith
