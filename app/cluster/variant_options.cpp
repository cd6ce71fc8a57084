// Declares and checks the options of variants of k-means.
#include "app/cluster/variant_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/cli/text_options.h"
#include "core/error.h"
#include "data/results/stored_result.h"

namespace kith::app {

void add_variant_options(OptionSet& set, VariantOptions& options, const CommonOptions& common,
                         const std::vector<Reason>& unwritten) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto bisecting = [&options] { return options.is_bisecting(); };
  const auto weighted = [&common] { return common.weighted(); };
  const Reason no_batch = when([&options] { return options.batch == 0; }, "there is no --batch");
  set.choice({.names = "--empty",
              .value = "RULE",
              .help = "Handling of clusters without points: relocate (to the farthest point), keep, drop (K shrinks), "
                      "error.",
              .stored = Stored::if_changed,
              .position = position::kVariant,
              .no_effect = {when(bisecting, "--algorithm bisecting produces no empty clusters")}},
             {"relocate", "keep", "drop", "error"}, options.empty);
  set.text({.names = "--freeze",
            .value = "FILE[:DATASET]",
            .help = "Fixed centroids. They count towards K; --init supplies the rest.",
            .input = Input::file,
            .stored = Stored::if_changed,
            .position = position::kVariant,
            .refused = {when(bisecting,
                             "--freeze cannot be combined with --algorithm bisecting, which moves all centroids; leave "
                             "one of them out")}},
           options.freeze);
  set.flag({.names = "--medoids",
            .help = "Also write the point nearest to each centroid as medoid (this is not PAM).",
            .stored = Stored::if_changed,
            .position = position::kExtra,
            .no_effect = unwritten},
           options.medoids);
  set.integer(
      {.names = "--batch",
       .value = "N",
       .help =
           "Start with mini-batches of N random points, or of all if there are fewer. Cannot be combined with weights.",
       .shown_default = "none",
       .stored = Stored::if_changed,
       .position = position::kVariant,
       .refused = {when(weighted, "--batch cannot be combined with weights; leave one of them out"),
                   when(bisecting,
                        "--batch cannot be combined with --algorithm bisecting, which splits all rows at "
                        "once; leave one of them out")}},
      {1, kMost}, options.batch);
  set.integer({.names = "--epochs",
               .value = "E",
               .help = "Number of passes over all points in batches.",
               .stored = Stored::if_used,
               .position = position::kVariant,
               .no_effect = {no_batch}},
              {1, 1'000'000}, options.epochs);
  set.flag({.names = "--no-finish",
            .help = "Skip the iterations over all points after the batches.",
            .stored = Stored::if_used,
            .position = position::kVariant,
            .no_effect = {no_batch}},
           options.no_finish);
  set.choice(
      {.names = "--algorithm",
       .value = "NAME",
       .help = "lloyd, or bisecting: split one cluster in two by k-means until there are K. bisecting cannot be "
               "combined with weights.",
       .stored = Stored::if_changed,
       .position = position::kVariant,
       .refused = {when(weighted, "--algorithm bisecting cannot be combined with weights; leave one of them out")}},
      {"lloyd", "bisecting"}, options.algorithm);
  set.choice({.names = "--bisect",
              .value = "BY",
              .help = "Which cluster to split: that with the largest inertia, or size.",
              .stored = Stored::if_used,
              .position = position::kVariant,
              .no_effect = {when([bisecting] { return !bisecting(); }, "--algorithm is lloyd")}},
             {"inertia", "size"}, options.bisect);
  set.integer({.names = "--min-size",
               .value = "N",
               .help = "Warn about clusters with fewer points; with --balance, prevent them.",
               .shown_default = "none",
               .stored = Stored::if_changed,
               .position = position::kVariant},
              {1, kMost}, options.sizes.smallest);
  set.integer({.names = "--max-size",
               .value = "N",
               .help = "Warn about clusters with more points; with --balance, prevent them.",
               .shown_default = "none",
               .stored = Stored::if_changed,
               .position = position::kVariant},
              {1, kMost}, options.sizes.largest);
  set.flag(
      {.names = "--balance",
       .help =
           "Enforce --min-size and --max-size: after the iterations, reassign rows within these limits at the lowest "
           "inertia. Cannot be combined with weights.",
       .stored = Stored::if_used,
       .position = position::kVariant,
       .no_effect = {when([&options] { return !options.sizes.given(); },
                          "there is no --min-size and no "
                          "--max-size")},
       .refused = {when([&options, weighted] { return options.sizes.given() && weighted(); },
                        "--balance cannot be combined with weights; leave one of them out")}},
      options.balance);
}

EmptyRule empty_rule(const VariantOptions& options) {
  if (options.empty == "keep") return EmptyRule::keep;
  if (options.empty == "drop") return EmptyRule::drop;
  return options.empty == "error" ? EmptyRule::error : EmptyRule::relocate;
}

std::unique_ptr<data::PointSource> open_frozen(const VariantOptions& options, const data::PointSource& points,
                                               std::int64_t columns, const CommonOptions& common) {
  if (options.freeze.empty()) return nullptr;
  auto frozen = data::open_centroids(options.freeze, header_of(common));
  if (frozen->columns() == columns) return frozen;
  throw Error(ExitCode::usage,
              fmt::format("--freeze {}: expected centroids of {} column{}, as {} has{}, found {} x {}; "
                          "give centroids of points like these",
                          options.freeze, columns, columns == 1 ? "" : "s", points.name(),
                          columns == points.columns() ? "" : " after --pca", frozen->rows(), frozen->columns()));
}

Matrix<double> read_frozen(data::PointSource* frozen, Metric metric) {
  if (frozen == nullptr) return {};
  auto centroids = std::get<Matrix<double>>(data::read_all(*frozen));
  if (metric == Metric::cosine) normalize_centroids(centroids.view(), frozen->name());
  return centroids;
}

bool begins_with(MatrixView<const double> given, MatrixView<const double> frozen) {
  return given.rows >= frozen.rows && given.columns == frozen.columns &&
         std::equal(frozen.data, frozen.data + frozen.size(), given.data);
}

MatrixView<const double> beside_frozen(const VariantOptions& options, const std::string& init, std::int64_t clusters,
                                       MatrixView<const double> given, MatrixView<const double> frozen) {
  const bool is_rest = frozen.rows + given.rows == clusters;
  if (frozen.rows == 0 || given.rows == 0 || (is_rest && dropped_before(options, init) == 0)) return given;
  if (!begins_with(given, frozen)) {
    throw Error(ExitCode::usage,
                fmt::format("--init {}: expected the {} centroids of --freeze {} first, found others; give only the "
                            "{} that are not frozen",
                            init, frozen.rows, options.freeze, clusters - frozen.rows));
  }
  return given.middle(frozen.rows, given.rows - frozen.rows);
}

std::int64_t dropped_before(const VariantOptions& options, const std::string& init) {
  const data::Location place = data::parse_location(init);
  const bool may_be = empty_rule(options) == EmptyRule::drop && place.dataset.empty();
  if (!may_be || !data::StoredResult::is_one(place.file)) return 0;
  return data::StoredResult(place.file).whole("dropped_clusters").value_or(0);
}

std::string needs_memory(const VariantOptions& options) {
  if (options.is_bisecting()) return "--algorithm bisecting needs all rows in memory";
  if (options.batch > 0) return "--batch needs all rows in memory";
  return options.balance && options.sizes.given() ? "--balance needs all rows in memory" : "";
}

void fit_to_rows(VariantOptions& options, std::int64_t rows, std::int64_t clusters, Progress& progress) {
  if (options.batch > rows) {
    progress.warning(
        fmt::format("--batch {0}: there are only {1} points; each batch has all of them, as with --batch {1}",
                    options.batch, rows));
    options.batch = rows;
  }
  if (options.balance && options.sizes.given()) check_limits(options.sizes, rows, clusters);
}

std::int64_t variant_bytes(const VariantOptions& options, const data::PointSource& points, std::int64_t clusters) {
  constexpr std::int64_t kNumbers = 16;  // row numbers by cluster, or in random order
  std::int64_t bytes = 0;
  if (options.is_bisecting()) bytes += value_bytes(points) + kNumbers * points.rows();
  if (options.batch > 0) bytes += value_bytes(points) / points.rows() * options.batch + kNumbers * points.rows();
  if (!options.balance || !options.sizes.given()) return bytes;
  return bytes + balance_bytes(points.rows(), clusters, value_bytes(points) / points.rows());
}

}  // namespace kith::app
