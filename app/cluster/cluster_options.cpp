// Declares the options of kith cluster.
#include "app/cluster/cluster_options.h"

#include <limits>

#include "app/run/dropped_rows.h"
#include "app/run/preparation.h"
#include "app/run/weighting.h"

namespace kith::app {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<std::int32_t>::max();

void declare_start(OptionSet& set, ClusterOptions& options) {
  const Reason frozen = when([&options] { return options.all_frozen; }, "all centroids are frozen");
  const Reason fixed = [&options] { return options.fixed_start; };
  const auto bisecting = [&options] { return options.variant.is_bisecting(); };
  set.text({.names = "--init",
            .value = "HOW",
            .help = "Initial centroids: k-means++, k-means|| (for large K), random (rows), first (rows), farthest "
                    "(farthest-first traversal), or FILE[:DATASET] of K rows. kith uses the metric of a result, and "
                    "resumes one that was interrupted or reached its limit if the other options are unchanged.",
            .shown_default = kDefaultStart,
            .stored = Stored::always,
            .no_effect = {frozen},
            .refused = {when([=, &options] { return bisecting() && !options.init_file().empty(); },
                             "--init FILE cannot be combined with --algorithm bisecting, which begins with one "
                             "cluster; leave one of them out")}},
           options.init);
  set.text({.names = "--init-labels",
            .value = "FILE[:DATASET]",
            .help = "Start with the means of the rows that have the same label here: a vector, a result, or "
                    "FILE:COLUMN of a text file.",
            .input = Input::table,
            .refused = {when([&set] { return set.on_command_line("--init"); },
                             "--init-labels cannot be combined with --init; leave one of them out"),
                        when(bisecting,
                             "--init-labels cannot be combined with --algorithm bisecting, which begins with one "
                             "cluster; leave one of them out")}},
           options.init_labels);
  set.integer({.names = "--n-init",
               .value = "N",
               .help = "Number of runs with different starts; kith keeps the run with the lowest inertia.",
               .no_effect = {frozen, fixed}},
              {1, 1'000'000}, options.runs);
}

}  // namespace

void declare(OptionSet& set, ClusterOptions& options) {
  const Reason no_iterations = when([&options] { return options.variant.batch > 0 && options.variant.no_finish; },
                                    "--no-finish skips the iterations");
  add_points(set, options.points, "the file to cluster");
  set.integer({.names = "-k,--clusters",
               .value = "K",
               .help = "Number of clusters.",
               .shown_default = "the number of rows of --init FILE, or of labels in --init-labels",
               .stored = Stored::always},
              {1, kLargestInt}, options.clusters);
  declare_start(set, options);
  set.integer({.names = "--max-iterations",
               .value = "N",
               .help = "Maximum number of iterations per run.",
               .stored = Stored::always,
               .position = position::kLimits,
               .no_effect = {no_iterations}},
              {1, kLargestInt}, options.max_iterations);
  set.number({.names = "--tolerance",
              .value = "T",
              .help = "Stop when the sum of the centroids' squared shifts is at most T x mean column variance; 0: only "
                      "when no label changes.",
              .stored = Stored::always,
              .position = position::kLimits,
              .no_effect = {no_iterations},
              .refused = {negative_tolerance(options.tolerance)}},
             options.tolerance);
  add_variant_options(set, options.variant, options.common, output_reasons(options.common, options.write_obs));
  add_distance_option(set, options.save_distances, options.common, options.write_obs);
  set.flag(
      {.names = "--explain", .help = "Print for every cluster the columns in which it differs most from all points."},
      options.explain);
  add_label_option(set, options.write_obs, options.common);
  add_checkpoint_options(set, options.checkpoint);
  add_keep_option(set, options.checkpoint);
  for (const char* name : {"--checkpoint", "--keep-best"}) {
    set[name].refused = {when([&options] { return options.variant.is_bisecting(); },
                              std::string(name) +
                                  " cannot be combined with --algorithm bisecting, whose splits have no "
                                  "checkpoint; leave one of them out")};
  }
  add_weight_options(set, options.common);
  add_missing_options(set, options.common, true, kFillingHelp);
  add_preparation_options(set, options.common);
  add_label_common_options(set, options.common);
  set["--metric"].refused = {[&options] { return metric_without_means(options.common); }};
  set["--seed"].no_effect = set["--n-init"].no_effect;
}

}  // namespace kith::app
