// k-means by the algorithm that was asked for, and what is told and stored of it.
#pragma once

#include <cstdint>
#include <string>

#include "app/cluster/variant_options.h"
#include "core/bisecting.h"

namespace kith::app {

struct VariantRun {
  KMeansResult result;
  SplitTree tree;                // of --algorithm bisecting
  std::int64_t moved = 0;        // rows that --balance gave another label
  double nearest_inertia = 0.0;  // before that
};

/// Clusters the held points, balances sizes if that was asked for, else warns of those beyond their limits.
VariantRun run_variant(HeldPoints& held, const KMeansOptions& kmeans, const VariantOptions& options,
                       Invocation& invocation);

/// What was done apart from plain k-means, for people; empty: nothing was.
std::string method_of(const VariantRun& run, const VariantOptions& options, std::int64_t rows);

/// Attributes and datasets of the result. clusters: as asked for.
void write_variant(data::ResultFile& file, const VariantOptions& options, const VariantRun& run, std::int64_t clusters);

}  // namespace kith::app
