// Options of variants of k-means: empty clusters, frozen centroids, medoids, mini-batches, bisecting, sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/run/held_points.h"
#include "core/kmeans/balance.h"
#include "core/kmeans/bisecting.h"
#include "core/kmeans/kmeans.h"
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

/// unwritten: reasons why the output has no place for datasets.
void add_variant_options(OptionSet& set, VariantOptions& options, const CommonOptions& common,
                         const std::vector<Reason>& unwritten);

EmptyRule empty_rule(const VariantOptions& options);

/// The centroids of --freeze, null without it. Throws Error(usage) unless they have as many columns as the points.
std::unique_ptr<data::PointSource> open_frozen(const VariantOptions& options, const data::PointSource& points,
                                               std::int64_t columns, const CommonOptions& common);

/// Whether the --init file holds all centroids, as a result does: the frozen ones first.
bool begins_with(MatrixView<const double> given, MatrixView<const double> frozen);

/// The centroids `given` by the file `init` that are not frozen: the file may contain all `clusters`, as a result does.
/// Throws Error(usage) if others come first.
MatrixView<const double> beside_frozen(const VariantOptions& options, const std::string& init, std::int64_t clusters,
                                       MatrixView<const double> given, MatrixView<const double> frozen);

/// Number of clusters that the run of the result `init` dropped, if this run drops clusters, too: resuming it needs as
/// many fewer. 0 if `init` is no result.
std::int64_t dropped_before(const VariantOptions& options, const std::string& init);

/// Limits batches to the number of rows, with a warning. Throws Error(usage) for other values that do not suit this
/// many rows and clusters.
void fit_to_rows(VariantOptions& options, std::int64_t rows, std::int64_t clusters, Progress& progress);

/// Why the variant needs all rows in memory; empty if it does not.
std::string needs_memory(const VariantOptions& options);

/// Host bytes besides those of plain k-means.
std::int64_t variant_bytes(const VariantOptions& options, const data::PointSource& points, std::int64_t clusters);

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

/// Gives the clusters other numbers: cluster c becomes what order[c] was.
void renumber(VariantRun& run, const std::vector<std::int64_t>& order);

/// What the run did besides plain k-means, for people; empty: nothing.
std::string method_of(const VariantRun& run, const VariantOptions& options, std::int64_t rows);
/// How far an interrupted result of so many runs has come: "3 iterations", "2 of 6 runs".
std::string progress_of(const KMeansResult& result, int runs);

/// Attributes and datasets of the result. clusters: the requested number.
void write_variant(data::ResultFile& file, const VariantOptions& options, const VariantRun& run, std::int64_t clusters);

}  // namespace kith::app
