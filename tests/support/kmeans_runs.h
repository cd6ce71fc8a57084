// Complete runs of k-means on any backend, and their comparison bit for bit.
#pragma once

#include <string>
#include <vector>

#include "core/kmeans/kmeans.h"

namespace kith::test {

struct Warnings : Observer {
  std::vector<std::string> said;
  void warning(const std::string& message) override { said.push_back(message); }
};

/// Prepares the points and clusters them.
KMeansResult run(Points& points, const KMeansOptions& options, Observer& observer);
KMeansResult run(Points& points, const KMeansOptions& options);
/// The same for weighted points.
KMeansResult run(Points& points, const Weights& weights, const KMeansOptions& options);

/// Clusters values of one class on a backend.
KMeansResult on(Backend& backend, const Matrix<double>& values, ValueClass c, const KMeansOptions& options);

/// Compares every number of the results and of their iterations, except times and screening counts.
void check_same(const KMeansResult& expected, const KMeansResult& actual);

}  // namespace kith::test
