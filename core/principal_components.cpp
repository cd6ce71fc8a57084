// Products of all pairs of columns, tile by tile, and the eigenvectors of their matrix.
#include "core/principal_components.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "core/column_scaling.h"

namespace kith {
namespace {

constexpr std::int64_t kTile = 64;    // columns whose products with as many others one task sums
constexpr std::int64_t kBlock = 256;  // rows whose products are added up before they join the others
constexpr std::int64_t kMostRuns = 32;
constexpr std::int64_t kStep = 4;  // products of so many columns with so many others are summed in registers

/// Rows are taken in runs, whose length depends on their number alone: the sums of the runs are added in order.
std::int64_t run_rows(std::int64_t rows) {
  constexpr std::int64_t kLeast = 16 * kBlock;
  const std::int64_t even = (rows + kMostRuns - 1) / kMostRuns;
  return std::max(kLeast, (even + kBlock - 1) / kBlock * kBlock);
}

/// Columns of a tile.
std::int64_t width_of(std::int64_t tile, std::int64_t columns) { return std::min(kTile, columns - tile * kTile); }

/// A block of rows of one tile, centred: value r of column j is at r * kTile + j; columns that are not there are 0.
using Tile = std::vector<double>;

template <class T>
void load(MatrixView<const T> rows, const std::vector<double>& mean, std::int64_t number, Tile& tile) {
  const std::int64_t first_column = number * kTile, columns = width_of(number, rows.columns);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    double* out = tile.data() + r * kTile;
    for (std::int64_t j = 0; j < columns; ++j) {
      out[j] = static_cast<double>(rows(r, first_column + j)) - mean[static_cast<std::size_t>(first_column + j)];
    }
    std::fill(out + columns, out + kTile, 0.0);
  }
}

/// sums(j, l) += sum over r, ascending, of a(r, j) b(r, l), for j < a_columns and l < b_columns. Every product and
/// every sum is rounded.
void add_products(const Tile& a, std::int64_t a_columns, const Tile& b, std::int64_t b_columns, std::int64_t rows,
                  double* sums) {
  for (std::int64_t j = 0; j < a_columns; j += kStep) {
    for (std::int64_t l = 0; l < b_columns; l += kStep) {
      double block[kStep][kStep] = {};
      for (std::int64_t r = 0; r < rows; ++r) {
        const double* x = a.data() + r * kTile + j;
        const double* y = b.data() + r * kTile + l;
        for (std::int64_t p = 0; p < kStep; ++p) {
          for (std::int64_t q = 0; q < kStep; ++q) block[p][q] += x[p] * y[q];
        }
      }
      for (std::int64_t p = 0; p < kStep; ++p) {
        for (std::int64_t q = 0; q < kStep; ++q) sums[(j + p) * kTile + l + q] += block[p][q];
      }
    }
  }
}

/// The sums of products of the columns of two tiles over one run of rows.
template <class T>
std::vector<double> products(MatrixView<const T> run, const std::vector<double>& mean, std::int64_t j, std::int64_t l) {
  std::vector<double> sums(kTile * kTile, 0.0);
  Tile a(kBlock * kTile), b(kBlock * kTile);
  for (std::int64_t first = 0; first < run.rows; first += kBlock) {
    const auto block = run.middle(first, std::min(kBlock, run.rows - first));
    load(block, mean, j, a);
    if (l != j) load(block, mean, l, b);
    add_products(a, width_of(j, run.columns), l == j ? a : b, width_of(l, run.columns), block.rows, sums.data());
  }
  return sums;
}

/// The d x d sums of products of centred columns, lower triangle.
template <class T>
Eigen::MatrixXd product_matrix(MatrixView<const T> values, const std::vector<double>& mean, const Workers& workers) {
  const std::int64_t d = values.columns, length = run_rows(values.rows);
  const std::int64_t runs = (values.rows + length - 1) / length, tiles = (d + kTile - 1) / kTile;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t j = 0; j < tiles; ++j) {
    for (std::int64_t l = 0; l <= j; ++l) pairs.emplace_back(j, l);
  }
  const std::int64_t count = std::ssize(pairs);
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(runs * count));
  workers.run(runs * count, [&](std::int64_t task, int) {
    const std::int64_t first = task / count * length;
    const auto [j, l] = pairs[static_cast<std::size_t>(task % count)];
    parts[static_cast<std::size_t>(task)] =
        products(values.middle(first, std::min(length, values.rows - first)), mean, j, l);
  });
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(d, d);
  for (std::int64_t task = 0; task < runs * count; ++task) {
    const auto [j, l] = pairs[static_cast<std::size_t>(task % count)];
    const std::vector<double>& part = parts[static_cast<std::size_t>(task)];
    for (std::int64_t p = 0; p < width_of(j, d); ++p) {
      for (std::int64_t q = 0; q < width_of(l, d); ++q) {
        all(j * kTile + p, l * kTile + q) += part[static_cast<std::size_t>(p * kTile + q)];
      }
    }
  }
  return all;
}

/// 1, or -1 where the value that is largest in magnitude, the first of several, is negative.
double sign_of(const Eigen::VectorXd& component) {
  Eigen::Index largest = 0;
  for (Eigen::Index j = 1; j < component.size(); ++j) {
    if (std::abs(component[j]) > std::abs(component[largest])) largest = j;
  }
  return component[largest] < 0.0 ? -1.0 : 1.0;
}

}  // namespace

std::int64_t principal_components_bytes(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kOfSolver = 4;  // d x d: the matrix, the eigenvectors, what the solver works in
  const std::int64_t length = run_rows(rows), runs = (rows + length - 1) / length;
  const std::int64_t square = checked_product(8 * columns, columns, "columns");
  return checked_product(square, runs + kOfSolver, "columns") + checked_product(kTile * kTile, 8 * runs, "rows");
}

PrincipalComponents principal_components(PointsView values, std::int64_t count, const Workers& workers) {
  // Eigen chooses the order of its sums by the sizes of the caches: let these be the same on every machine.
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
  const std::int64_t d = columns_of(values), n = rows_of(values);
  PrincipalComponents pca;
  pca.mean = column_means(values, workers);
  const Eigen::MatrixXd products =
      std::visit([&](const auto& rows) { return product_matrix(rows, pca.mean, workers); }, values);
  const double total = products.trace();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  if (!std::isfinite(total) || solver.compute(products).info() != Eigen::Success) {
    throw Error(ExitCode::data, "principal components: products of columns leave the range of float64",
                Cause::column_products);
  }
  pca.components = Matrix<double>(count, d);
  for (std::int64_t c = 0; c < count; ++c) {  // Eigen has the smallest first
    const double spread = std::max(solver.eigenvalues()[d - 1 - c], 0.0);
    pca.variance.push_back(n > 1 ? spread / static_cast<double>(n - 1) : 0.0);
    pca.variance_ratio.push_back(total > 0.0 ? spread / total : 0.0);
    const Eigen::VectorXd component = solver.eigenvectors().col(d - 1 - c);
    const double sign = sign_of(component);
    for (std::int64_t j = 0; j < d; ++j) pca.components(c, j) = sign * component[j] + 0.0;
  }
  return pca;
}

template <class T>
void project(Matrix<T>& values, const PrincipalComponents& pca, const Workers& workers) {
  constexpr std::int64_t kRows = 64;  // of a task
  const std::int64_t n = values.rows(), d = values.columns(), size = pca.size();
  Matrix<double> weights(d, size);  // value j of all components together
  for (std::int64_t j = 0; j < d; ++j) {
    for (std::int64_t c = 0; c < size; ++c) weights(j, c) = pca.components(c, j);
  }
  // First every row in its own place, so that tasks do not meet; then all moved together.
  workers.run((n + kRows - 1) / kRows, [&](std::int64_t task, int) {
    std::vector<double> places(static_cast<std::size_t>(size));
    for (std::int64_t i = task * kRows; i < std::min(n, (task + 1) * kRows); ++i) {
      std::fill(places.begin(), places.end(), 0.0);
      for (std::int64_t j = 0; j < d; ++j) {
        const double t = static_cast<double>(values(i, j)) - pca.mean[static_cast<std::size_t>(j)];
        const double* row = weights.row(j).data();
        for (std::int64_t c = 0; c < size; ++c) places[static_cast<std::size_t>(c)] += t * row[c];
      }
      for (std::int64_t c = 0; c < size; ++c) values(i, c) = static_cast<T>(places[static_cast<std::size_t>(c)]);
    }
  });
  T* const all = values.data();
  for (std::int64_t i = 1; i < n; ++i) std::copy(all + i * d, all + i * d + size, all + i * size);
  values.reshape(n, size);
}

template void project(Matrix<float>&, const PrincipalComponents&, const Workers&);
template void project(Matrix<double>&, const PrincipalComponents&, const Workers&);

Matrix<double> back_projected(MatrixView<const double> points, const PrincipalComponents& pca) {
  const std::int64_t d = pca.components.columns();
  Matrix<double> out(points.rows, d);
  for (std::int64_t i = 0; i < points.rows; ++i) {
    std::copy(pca.mean.begin(), pca.mean.end(), out.row(i).begin());
    for (std::int64_t c = 0; c < points.columns; ++c) {
      for (std::int64_t j = 0; j < d; ++j) out(i, j) += points(i, c) * pca.components(c, j);
    }
  }
  return out;
}

}  // namespace kith
