// Checks of options of the C++ interface. They throw Error(usage), and Error(data) for values.
#pragma once

#include <kith/cluster.h>
#include <kith/points.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/kmeans/kmeans.h"
#include "core/numbers/metric.h"
#include "core/points/data_plan.h"
#include "core/points/matrix.h"

namespace kith {

/// The metric of this name; `means`: only metrics that k-means supports.
Metric metric_named(const std::string& name, bool means);
/// The start of this name, or without one the default for the shape and the number of clusters.
Init init_named(const std::string& name, const DataPlan& plan, std::int64_t clusters);
EmptyRule rule_named(const std::string& name);
/// Given centroids (k, d); for cosine their directions.
Matrix<double> checked_centroids(const OwnedMatrix<double>& centroids, Metric metric);
void check_options(const ClusterOptions& options);
/// One weight for each row, or none.
void check_weights(std::span<const double> weights, std::int64_t rows);

}  // namespace kith
