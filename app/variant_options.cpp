// Options of kith cluster that depart from plain k-means: declared, checked, stored.
#include "app/variant_options.h"

#include <fmt/format.h>

#include "app/results.h"
#include "core/error.h"
#include "data/stored_result.h"

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
  throw Error(ExitCode::usage, fmt::format("--freeze {}: expected centroids of {} columns, as {} has, found {} x {}; "
                                           "give centroids of points like these",
                                           options.freeze, columns, points.name(), frozen->rows(), frozen->columns()));
}

Matrix<double> read_frozen(data::PointSource* frozen, Metric metric) {
  if (frozen == nullptr) return {};
  auto centroids = std::get<Matrix<double>>(data::read_all(*frozen));
  if (metric == Metric::cosine) unit_centroids(centroids.view(), frozen->name());
  return centroids;
}

std::int64_t dropped_before(const VariantOptions& options, const std::string& init) {
  const data::Location place = data::parse_location(init);
  const bool may_be = empty_rule(options) == EmptyRule::drop && place.dataset.empty();
  if (!may_be || !data::StoredResult::is_one(place.file)) return 0;
  return data::StoredResult(place.file).whole("dropped_clusters").value_or(0);
}

void warn_of_variant(const OptionSet& set, bool labels_alone, Invocation& invocation) {
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
  return command + (options.medoids ? " --medoids" : "");
}

void write_variant(data::ResultFile& file, const VariantOptions& options, const KMeansResult& result,
                   std::int64_t clusters) {
  if (empty_rule(options) == EmptyRule::drop) file.attribute("dropped_clusters", clusters - result.centroids.rows());
  if (!options.freeze.empty()) {
    file.attribute("freeze", stored_name(options.freeze));
    file.attribute("frozen", result.frozen);
  }
  if (options.medoids) file.dataset("medoids", result.medoids.view());
}

}  // namespace kith::app
