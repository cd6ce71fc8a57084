// Runs the requested algorithm, and reports and stores what differs from plain k-means.
#pragma once

#include <cstdint>
#include <string>

#include "app/cluster/variant_options.h"
#include "app/plan/work.h"
#include "core/kmeans/bisecting.h"

namespace kith::app {

struct VariantRun {
  KMeansResult result;
  SplitTree tree;          // of --algorithm bisecting
  std::int64_t moved = 0;  // rows that --balance gave another label
  std::int64_t balancing_steps = 0;
  double nearest_inertia = 0.0;  // before that
};

/// Clusters the held points; balances sizes with --balance, else warns of sizes beyond the limits.
VariantRun run_variant(HeldPoints& held, const KMeansOptions& kmeans, const VariantOptions& options, Job& job);

/// Whether the run is Lloyd's iteration alone.
bool is_plain(const VariantOptions& options);

/// What the run did besides plain k-means, for people; empty: nothing.
std::string method_of(const VariantRun& run, const VariantOptions& options, std::int64_t rows);
/// How far an interrupted result of so many runs has come: "3 iterations", "2 of 6 runs".
std::string progress_of(const KMeansResult& result, int runs);

/// Attributes and datasets of the result. clusters: the requested number.
void write_variant(data::ResultFile& file, const VariantOptions& options, const VariantRun& run, std::int64_t clusters);

}  // namespace kith::app
