// Options of kith cluster that depart from plain k-means: empty clusters, frozen centroids, medoids, mini-batches,
// bisecting, sizes.
#pragma once

#include <memory>
#include <string>

#include "app/cli/options.h"
#include "app/run/job.h"
#include "core/balance.h"
#include "core/kmeans.h"
#include "data/source.h"

namespace kith::app {

struct VariantOptions {
  std::string empty = "relocate";
  std::string freeze;
  bool medoids = false;
  std::int64_t batch = 0;  // rows; 0: none
  std::int64_t epochs = 3;
  bool no_finish = false;
  std::string algorithm = "lloyd";
  std::string bisect = "inertia";
  SizeLimits sizes;
  bool balance = false;
  bool is_bisecting() const { return algorithm == "bisecting"; }
};

void add_variant_options(OptionSet& set, VariantOptions& options);

EmptyRule empty_rule(const VariantOptions& options);

/// The centroids of --freeze, null without it. Throws Error(usage) when the points have other columns.
std::unique_ptr<data::PointSource> open_frozen(const VariantOptions& options, const data::PointSource& points,
                                               std::int64_t columns);

/// Their values (f, d), scaled to length 1 for cosine; nothing of null.
Matrix<double> read_frozen(data::PointSource* frozen, Metric metric);

/// How many clusters the run that wrote `init` has dropped, if it is the result of one and this run drops them, too: it
/// goes on with as many fewer.
std::int64_t dropped_before(const VariantOptions& options, const std::string& init);

/// Throws Error(usage) for options that do not go together, or not with this many rows and clusters. is_given: the
/// start comes from a file.
void check_variant(const VariantOptions& options, bool is_given, std::int64_t rows, std::int64_t clusters);

/// Throws Error(usage) for options that do not go together with weights of rows.
void refuse_weights(const VariantOptions& options);

/// Host bytes that they need besides those of plain k-means.
std::int64_t variant_bytes(const VariantOptions& options, const data::PointSource& points);

/// Names options without effect: `labels_alone` says that the output has no place for datasets.
void warn_of_variant(const OptionSet& set, const VariantOptions& options, bool labels_alone, Invocation& invocation);

/// What the stored command says of them: nothing of the defaults.
std::string stored_variant(const VariantOptions& options);

}  // namespace kith::app
