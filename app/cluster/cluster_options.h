// The options of kith cluster.
#pragma once

#include <cstdint>
#include <string>

#include "app/cluster/label_output.h"
#include "app/cluster/variant_options.h"
#include "app/run/checkpointing.h"
#include "app/run/start.h"

namespace kith::app {

struct ClusterOptions {
  std::string points;
  std::int64_t clusters = 0;
  std::string init = "k-means++";
  std::string init_labels;
  std::int64_t runs = 1;
  std::int64_t max_iterations = 300;
  double tolerance = 1e-4;
  bool save_distances = false;
  bool explain = false;
  std::string write_obs;
  VariantOptions variant;
  CheckpointOptions checkpoint;
  CommonOptions common;

  std::string fixed_start;  // once the start is open: why it is not random, or empty
  bool all_frozen = false;  // once --freeze is open

  /// The file that --init names; empty if --init names a rule.
  std::string init_file() const { return is_start_rule(init) ? "" : init; }
  /// Whether --balance moves labels after the iterations. Then a row may be nearer to another centroid, and the
  /// centroids are not those of the last iteration.
  bool moves_labels() const { return variant.balance && variant.sizes.given(); }
  bool writes_labels_only() const { return is_label_output(common, write_obs); }
};

void declare(OptionSet& set, ClusterOptions& options);

}  // namespace kith::app
