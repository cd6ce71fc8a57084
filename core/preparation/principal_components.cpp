// PCA: the scatter matrix of the columns, computed tile by tile, and its eigenvectors.
#include "core/preparation/principal_components.h"

#include "core/numbers/maps.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "core/preparation/preparation.h"
#include "core/runtime/threads.h"

namespace kith {
namespace {

constexpr std::int64_t kTile = 64;              // columns per tile; a task sums the products of two tiles
constexpr std::int64_t kBlock = kRowsOfBlocks;  // rows summed before the sum is added to that of the partition
constexpr std::int64_t kMaxPartitions = 32;
constexpr std::int64_t kStep = 4;  // columns per register block

/// Rows per partition, which depends on the number of rows only. The sums of the partitions are added in order.
std::int64_t partition_rows(std::int64_t rows) {
  constexpr std::int64_t kMinimum = 16 * kBlock;
  const std::int64_t even = (rows + kMaxPartitions - 1) / kMaxPartitions;
  return std::max(kMinimum, (even + kBlock - 1) / kBlock * kBlock);
}

/// The number of columns in a tile.
std::int64_t width_of(std::int64_t tile, std::int64_t columns) { return std::min(kTile, columns - tile * kTile); }

/// The columns of one tile in a block of centred rows: element (r, j) is at r * kTile + j; columns beyond the last one
/// are 0.
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

/// sums(j, l) += sum over r, ascending, of a(r, j) b(r, l) for j < a_columns and l < b_columns. Rounds each product and
/// each sum.
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

/// Adds the products of the columns of tiles j and l, over these rows of one partition, to its sums.
template <class T>
void add_tile_products(MatrixView<const T> rows, const std::vector<double>& mean, std::int64_t j, std::int64_t l,
                       std::vector<double>& sums) {
  sums.resize(kTile * kTile, 0.0);
  Tile a(kBlock * kTile), b(kBlock * kTile);
  for (std::int64_t first = 0; first < rows.rows; first += kBlock) {
    const auto block = rows.middle(first, std::min(kBlock, rows.rows - first));
    load(block, mean, j, a);
    if (l != j) load(block, mean, l, b);
    add_products(a, width_of(j, rows.columns), l == j ? a : b, width_of(l, rows.columns), block.rows, sums.data());
  }
}

/// The lower triangle of the scatter matrix (d, d).
Eigen::MatrixXd product_matrix(const RowBlocks& blocks, const std::vector<double>& mean, Threads& threads) {
  const std::int64_t d = blocks.columns, length = partition_rows(blocks.rows);
  const std::int64_t partitions = (blocks.rows + length - 1) / length, tiles = (d + kTile - 1) / kTile;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::int64_t j = 0; j < tiles; ++j) {
    for (std::int64_t l = 0; l <= j; ++l) pairs.emplace_back(j, l);
  }
  const std::int64_t count = std::ssize(pairs);
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(partitions * count));
  std::int64_t begin = 0;  // row of the block
  blocks.pass([&](const PointsView& block) {
    const std::int64_t end = begin + rows_of(block), first_part = begin / length;
    const std::int64_t parts_here = (end + length - 1) / length - first_part;
    threads.run(parts_here * count, [&](std::int64_t task, int) {
      const std::int64_t part = first_part + task / count;
      const std::int64_t from = std::max(begin, part * length), to = std::min(end, (part + 1) * length);
      const auto [j, l] = pairs[static_cast<std::size_t>(task % count)];
      std::vector<double>& sums = parts[static_cast<std::size_t>(part * count + task % count)];
      std::visit(
          [&, j = j, l = l](const auto& values) {
            add_tile_products(values.middle(from - begin, to - from), mean, j, l, sums);
          },
          block);
    });
    begin = end;
  });
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(d, d);
  for (std::int64_t task = 0; task < partitions * count; ++task) {
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

/// -1 if the entry with the largest magnitude (the first of equal ones) is negative, else 1.
double sign_of(const Eigen::VectorXd& component) {
  Eigen::Index largest = 0;
  for (Eigen::Index j = 1; j < component.size(); ++j) {
    if (std::abs(component[j]) > std::abs(component[largest])) largest = j;
  }
  return component[largest] < 0.0 ? -1.0 : 1.0;
}

}  // namespace

std::int64_t principal_components_bytes(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kOfSolver = 4;  // d x d arrays: the matrix, the eigenvectors, workspace of the solver
  const std::int64_t length = partition_rows(rows), partitions = (rows + length - 1) / length;
  const std::int64_t square = checked_product(8 * columns, columns, "columns");
  return checked_product(square, partitions + kOfSolver, "columns") +
         checked_product(kTile * kTile, 8 * partitions, "rows");
}

PrincipalComponents principal_components(const RowBlocks& blocks, std::int64_t count, Threads& threads) {
  // Eigen orders its sums by cache sizes; fixed sizes give the same bits on every machine. On arm64, with tiles of
  // another shape, this one divides the depth of a product at the same multiples of 504.
#ifdef __aarch64__
  constexpr int kFirstCache = 40 << 10;
#else
  constexpr int kFirstCache = 32 << 10;
#endif
  Eigen::setCpuCacheSizes(kFirstCache, 256 << 10, 2 << 20);
  const std::int64_t d = blocks.columns, n = blocks.rows;
  PrincipalComponents pca;
  pca.mean = column_means(blocks, threads);
  const Eigen::MatrixXd products = product_matrix(blocks, pca.mean, threads);
  const double total = products.trace();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  if (!std::isfinite(total) || solver.compute(products).info() != Eigen::Success) {
    throw Error(ExitCode::data, "principal components: products of columns leave the range of float64",
                Cause::column_products);
  }
  pca.components = Matrix<double>(count, d);
  for (std::int64_t c = 0; c < count; ++c) {  // Eigen sorts in ascending order
    const double spread = std::max(solver.eigenvalues()[d - 1 - c], 0.0);
    pca.variance.push_back(n > 1 ? spread / static_cast<double>(n - 1) : 0.0);
    pca.variance_ratio.push_back(total > 0.0 ? spread / total : 0.0);
    const Eigen::VectorXd component = solver.eigenvectors().col(d - 1 - c);
    array(pca.components.row(c)) = sign_of(component) * component.array().transpose() + 0.0;
  }
  return pca;
}

template <class T>
void project(Matrix<T>& values, const PrincipalComponents& pca, Threads& threads) {
  constexpr std::int64_t kRows = 64;  // rows per task
  const std::int64_t n = values.rows(), d = values.columns(), size = pca.size();
  const RowsArray<double> weights = array(pca.components).transpose();  // (d, size)
  // Tasks first write each row in place; the rows are then moved together.
  threads.run((n + kRows - 1) / kRows, [&](std::int64_t task, int) {
    RowArray<double> coordinates(size);
    for (std::int64_t i = task * kRows; i < std::min(n, (task + 1) * kRows); ++i) {
      coordinates.setZero();
      for (std::int64_t j = 0; j < d; ++j) {
        const double t = static_cast<double>(values(i, j)) - pca.mean[static_cast<std::size_t>(j)];
        coordinates += t * weights.row(j);
      }
      array(values.row(i)).head(size) = coordinates.template cast<T>();
    }
  });
  T* const all = values.data();
  for (std::int64_t i = 1; i < n; ++i) std::copy(all + i * d, all + i * d + size, all + i * size);
  values.reshape(n, size);
}

template void project(Matrix<float>&, const PrincipalComponents&, Threads&);
template void project(Matrix<double>&, const PrincipalComponents&, Threads&);

Matrix<double> back_projected(MatrixView<const double> points, const PrincipalComponents& pca) {
  const std::int64_t d = pca.components.columns();
  Matrix<double> out(points.rows, d);
  for (std::int64_t i = 0; i < points.rows; ++i) {
    auto row = array(out.row(i));
    row = array(pca.mean);
    for (std::int64_t c = 0; c < points.columns; ++c) row += points(i, c) * array(pca.components.row(c));
  }
  return out;
}

namespace {

constexpr std::int64_t kVectors = 4;  // two that are requested, and two that speed up convergence
constexpr int kMaxRounds = 60;

/// The sum of products, from the first to the last.
double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

/// Orthonormalises the vectors (q, d) in order (Gram-Schmidt); linearly dependent vectors become 0.
void orthogonalise(MatrixView<double> vectors) {
  for (std::int64_t a = 0; a < vectors.rows; ++a) {
    const std::span<double> row = vectors.row(a);
    const double before = std::sqrt(dot(row, row));
    // Repeat once to remove the rounding errors of the first pass.
    for (int time = 0; time < 2; ++time) {
      for (std::int64_t b = 0; b < a; ++b) {
        const double along = dot(row, vectors.row(b));
        array(row) -= along * array(vectors.row(b));
      }
    }
    const double length = std::sqrt(dot(row, row));
    if (length > 1e-12 * before) {
      array(row) /= length;
    } else {
      array(row).setZero();
    }
  }
}

/// next (q, d) = vectors (q, d) times the scatter matrix of the rows.
void multiply(MatrixView<const double> rows, const std::vector<double>& centre, MatrixView<const double> vectors,
              MatrixView<double> next) {
  std::vector<double> centred(centre.size());
  array(next).setZero();
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    array(centred) = array(rows.row(i)) - array(centre);
    for (std::int64_t a = 0; a < vectors.rows; ++a) {
      array(next.row(a)) += dot(centred, vectors.row(a)) * array(centred);
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
  const auto largest = std::ranges::max_element(axis, [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest < 0.0) array(axis) = -array(axis);
}

}  // namespace

PrincipalPlane principal_plane(MatrixView<const double> rows) {
  const std::int64_t columns = rows.columns, vectors = std::min(kVectors, columns);
  PrincipalPlane plane{std::vector<double>(columns, 0.0), Matrix<double>(2, columns), {}};
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    array(plane.centre) += array(rows.row(i)) / static_cast<double>(rows.rows);
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
  array(plane.axes).setZero();
  for (std::int64_t a = 0; a < std::min<std::int64_t>(vectors, 2); ++a) {
    std::copy(axes.row(a).begin(), axes.row(a).end(), plane.axes.row(a).begin());
    fix_sign(plane.axes.row(a));
    const double along = dot(axes.row(a), next.row(a));
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
