// Options of kith cluster that depart from plain k-means: empty clusters, frozen centroids, medoids.
#pragma once

#include <memory>
#include <string>

#include "app/invocation.h"
#include "app/options.h"
#include "core/kmeans.h"
#include "data/source.h"

namespace kith::app {

struct VariantOptions {
  std::string empty = "relocate";
  std::string freeze;
  bool medoids = false;
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

/// Names options without effect: `labels_alone` says that the output has no place for datasets.
void warn_of_variant(const OptionSet& set, bool labels_alone, Invocation& invocation);

/// What the stored command says of them: nothing of the defaults.
std::string stored_variant(const VariantOptions& options);

/// Their attributes and datasets in the result. clusters: as asked for.
void write_variant(data::ResultFile& file, const VariantOptions& options, const KMeansResult& result,
                   std::int64_t clusters);

}  // namespace kith::app
