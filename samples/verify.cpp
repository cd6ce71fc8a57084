// Checks the result files of ./dev demo (labels, assignment, neighbours) against the definition, in plain loops over
// all rows.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/numbers/distance.h"
#include "data/source.h"

namespace {

using kith::Matrix;

/// Reads a dataset as float64, which represents all values of the demo exactly. A vector becomes one column.
Matrix<double> read(const std::string& location) {
  auto source = kith::data::open_points(location, {.precision = kith::data::Precision::f64, .vector_as_column = true});
  Matrix<double> values(source->rows(), source->columns());
  source->read(0, values.view());
  return values;
}

/// The `count` rows of `base` nearest to x with their D; ties go to the lowest row. excluded: a row to skip, or -1.
std::vector<std::pair<double, std::int64_t>> nearest(const double* x, const Matrix<double>& base, std::int64_t count,
                                                     std::int64_t excluded) {
  std::vector<std::pair<double, std::int64_t>> all;
  for (std::int64_t i = 0; i < base.rows(); ++i) {
    if (i != excluded) all.emplace_back(kith::squared_distance(x, base.row(i).data(), base.columns()), i);
  }
  std::partial_sort(all.begin(), all.begin() + count, all.end());
  all.resize(count);
  return all;
}

/// Prints how many of `total` values agree. Returns whether all do.
bool report(const char* what, std::int64_t agreed, std::int64_t total) {
  std::printf("%-48s %lld of %lld\n", what, static_cast<long long>(agreed), static_cast<long long>(total));
  return agreed == total;
}

bool verify(const std::string& points_file, const std::string& clusters, const std::string& assigned,
            const std::string& lists) {
  const auto points = read(points_file);
  const auto centroids = read(clusters + ":/centroids");
  const auto labels = read(clusters + ":/labels");
  const auto labels_assigned = read(assigned + ":/labels");
  const auto neighbors = read(lists + ":/neighbors");
  if (labels.rows() != points.rows() || labels_assigned.rows() != points.rows() || neighbors.rows() != points.rows()) {
    std::fprintf(stderr,
                 "verify: expected files of one data set, found %lld points, %lld and %lld labels, %lld lists\n",
                 static_cast<long long>(points.rows()), static_cast<long long>(labels.rows()),
                 static_cast<long long>(labels_assigned.rows()), static_cast<long long>(neighbors.rows()));
    return false;
  }

  std::int64_t correct_labels = 0, same_labels = 0, correct_neighbors = 0;
  for (std::int64_t i = 0; i < points.rows(); ++i) {
    const double* x = points.row(i).data();
    const auto label = static_cast<std::int64_t>(labels(i, 0));
    correct_labels += label == nearest(x, centroids, 1, -1).front().second;
    same_labels += labels(i, 0) == labels_assigned(i, 0);
    const auto expected = nearest(x, points, neighbors.columns(), i);
    for (std::int64_t j = 0; j < neighbors.columns(); ++j) {
      correct_neighbors += static_cast<std::int64_t>(neighbors(i, j)) == expected[j].second;
    }
  }
  bool correct = report("labels that name the nearest centroid", correct_labels, points.rows());
  correct &= report("labels that kith assign reproduces", same_labels, points.rows());
  correct &= report("neighbours at the correct place of their list", correct_neighbors, neighbors.size());
  return correct;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: verify POINTS CLUSTERS ASSIGNED NEIGHBORS (the result files of ./dev demo)\n");
    return 2;
  }
  try {
    return verify(argv[1], argv[2], argv[3], argv[4]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verify: %s\n", error.what());
    return 1;
  }
}
