// Options of kith cluster that depart from plain k-means: declared, checked, stored.
#include "app/cluster/variant_options.h"

#include <fmt/format.h>

#include <limits>

#include "app/run/results.h"
#include "core/error.h"
#include "data/results/stored_result.h"

namespace kith::app {

void add_variant_options(OptionSet& set, VariantOptions& options) {
  set.choice(
      {.names = "--empty",
       .value = "RULE",
       .help = "Clusters without points: relocate (they take the farthest point), keep, drop (K shrinks), error."},
      {"relocate", "keep", "drop", "error"}, options.empty);
  set.text({.names = "--freeze",
            .value = "FILE[:DATASET]",
            .help = "The first centroids, which do not move; K counts them in, --init gives the others."},
           options.freeze);
  set.flag({.names = "--medoids", .help = "Also write the point nearest each centroid, as medoids (this is not PAM)."},
           options.medoids);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  set.integer({.names = "--batch",
               .value = "N",
               .help = "Mini-batches: first follow batches of N random points; not with weights.",
               .shown_default = "none"},
              {1, kMost}, options.batch);
  set.integer({.names = "--epochs", .value = "E", .help = "Passes over all points in batches."}, {1, 1'000'000},
              options.epochs);
  set.flag({.names = "--no-finish", .help = "No whole iterations after the batches."}, options.no_finish);
  set.choice(
      {.names = "--algorithm",
       .value = "NAME",
       .help = "lloyd, or bisecting: one cluster is split in two by k-means until there are K; not with weights."},
      {"lloyd", "bisecting"}, options.algorithm);
  set.choice({.names = "--bisect", .value = "BY", .help = "Split the cluster with the largest inertia, or size."},
             {"inertia", "size"}, options.bisect);
  set.integer({.names = "--min-size",
               .value = "N",
               .help = "Warn of clusters with fewer points; with --balance there are none.",
               .shown_default = "none"},
              {1, kMost}, options.sizes.smallest);
  set.integer({.names = "--max-size",
               .value = "N",
               .help = "Warn of clusters with more points; with --balance there are none.",
               .shown_default = "none"},
              {1, kMost}, options.sizes.largest);
  set.flag({.names = "--balance",
            .help = "Move points, where it costs least at the moment, until the sizes are kept (a heuristic); not with "
                    "weights."},
           options.balance);
}

EmptyRule empty_rule(const VariantOptions& options) {
  if (options.empty == "keep") return EmptyRule::keep;
  if (options.empty == "drop") return EmptyRule::drop;
  return options.empty == "error" ? EmptyRule::error : EmptyRule::relocate;
}

std::unique_ptr<data::PointSource> open_frozen(const VariantOptions& options, const data::PointSource& points,
                                               std::int64_t columns) {
  if (options.freeze.empty()) return nullptr;
  auto frozen = data::open_centroids(options.freeze);
  if (frozen->columns() == columns) return frozen;
  throw Error(ExitCode::usage,
              fmt::format("--freeze {}: expected centroids of {} columns, as {} has{}, found {} x {}; "
                          "give centroids of points like these",
                          options.freeze, columns, points.name(), columns == points.columns() ? "" : " behind --pca",
                          frozen->rows(), frozen->columns()));
}

Matrix<double> read_frozen(data::PointSource* frozen, Metric metric) {
  if (frozen == nullptr) return {};
  auto centroids = std::get<Matrix<double>>(data::read_all(*frozen));
  if (metric == Metric::cosine) normalize_centroids(centroids.view(), frozen->name());
  return centroids;
}

std::int64_t dropped_before(const VariantOptions& options, const std::string& init) {
  const data::Location place = data::parse_location(init);
  const bool may_be = empty_rule(options) == EmptyRule::drop && place.dataset.empty();
  if (!may_be || !data::StoredResult::is_one(place.file)) return 0;
  return data::StoredResult(place.file).whole("dropped_clusters").value_or(0);
}

void check_variant(const VariantOptions& options, bool is_given, std::int64_t rows, std::int64_t clusters) {
  const auto refuse = [](const char* option, const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("{}: {}; leave one of them out", option, why));
  };
  if (options.is_bisecting() && !options.freeze.empty())
    refuse("--freeze", "--algorithm bisecting moves all centroids");
  if (options.is_bisecting() && is_given) refuse("--init", "--algorithm bisecting begins with one cluster");
  if (options.is_bisecting() && options.batch > 0) refuse("--batch", "--algorithm bisecting splits all rows at once");
  if (options.batch > rows) {
    throw Error(ExitCode::usage,
                fmt::format("--batch {}: expected at most {}, the number of points", options.batch, rows));
  }
  if (options.balance && options.sizes.given()) check_limits(options.sizes, rows, clusters);
}

void refuse_weights(const VariantOptions& options) {
  const char* option = options.is_bisecting()                     ? "--algorithm bisecting"
                       : options.batch > 0                        ? "--batch"
                       : options.balance && options.sizes.given() ? "--balance"
                                                                  : nullptr;
  if (option == nullptr) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: expected rows without weights, found weights; leave one of them out", option));
}

std::int64_t variant_bytes(const VariantOptions& options, const data::PointSource& points) {
  constexpr std::int64_t kNumbers = 16;    // rows by cluster, or in random order
  constexpr std::int64_t kDistances = 40;  // to one cluster, and the moves to make
  std::int64_t bytes = 0;
  if (options.is_bisecting()) bytes += value_bytes(points) + kNumbers * points.rows();
  if (options.batch > 0) bytes += value_bytes(points) / points.rows() * options.batch + kNumbers * points.rows();
  return options.balance ? bytes + kDistances * points.rows() + kBalanceBytes : bytes;
}

void warn_of_variant(const OptionSet& set, const VariantOptions& options, bool labels_alone, Invocation& invocation) {
  if (options.batch == 0) {
    for (const char* option : {"--epochs", "--no-finish"}) {
      invocation.warn_without_effect(set, option, "there is no --batch");
    }
  } else if (options.no_finish) {
    for (const char* option : {"--max-iterations", "--tolerance"}) {
      invocation.warn_without_effect(set, option, "--no-finish leaves out the iterations");
    }
  }
  if (options.is_bisecting()) {
    invocation.warn_without_effect(set, "--empty", "--algorithm bisecting leaves no cluster empty");
  } else {
    invocation.warn_without_effect(set, "--bisect", "--algorithm is lloyd");
  }
  if (!options.sizes.given()) {
    invocation.warn_without_effect(set, "--balance", "there is no --min-size and no --max-size");
  }
  if (invocation.common.output.empty()) {
    invocation.warn_without_effect(set, "--medoids", "there is no --output");
  } else if (labels_alone) {
    invocation.warn_without_effect(set, "--medoids", "the output holds labels alone");
  }
}

std::string stored_variant(const VariantOptions& options) {
  std::string command;
  if (options.empty != "relocate") command += " --empty " + options.empty;
  if (!options.freeze.empty()) command += " --freeze " + stored_name(options.freeze);
  if (options.batch > 0) {
    command += fmt::format(" --batch {} --epochs {}{}", options.batch, options.epochs,
                           options.no_finish ? " --no-finish" : "");
  }
  if (options.is_bisecting()) command += " --algorithm bisecting --bisect " + options.bisect;
  if (options.balance && options.sizes.smallest > 0) command += fmt::format(" --min-size {}", options.sizes.smallest);
  if (options.balance && options.sizes.largest > 0) command += fmt::format(" --max-size {}", options.sizes.largest);
  if (options.balance && options.sizes.given()) command += " --balance";
  return command + (options.medoids ? " --medoids" : "");
}

}  // namespace kith::app
