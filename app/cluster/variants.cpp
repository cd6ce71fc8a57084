// Declares and checks the options of variants of k-means.
#include "app/cluster/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/cli/common_options.h"
#include "app/run/model.h"
#include "app/run/results.h"
#include "core/error.h"
#include "core/kmeans/result.h"
#include "core/numbers/maps.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

/// Replaces the labels by labels within the size limits, and updates all that depends on them.
void balance_sizes(HeldPoints& held, const RowStore& store, const KMeansOptions& options, const SizeLimits& sizes,
                   VariantRun& run, Observer& observer) {
  observer.phase("balance", 0);
  KMeansResult& result = run.result;
  check_limits(sizes, held.plan.rows, result.centroids.rows());
  const Balanced found =
      balance(*held.points, held.plan, store, {result.centroids.view(), result.labels, sizes}, options, observer);
  for (std::size_t i = 0; i < found.labels.size(); ++i) run.moved += found.labels[i] != result.labels[i] ? 1 : 0;
  run.balancing_steps = found.steps;
  if (!found.converged) {
    observer.warning(fmt::format("--balance: labels still changed after {} step{}; increase --max-iterations",
                                 found.steps, found.steps == 1 ? "" : "s"));
  }
  run.nearest_inertia = result.inertia;
  KMeansResult balanced = result_from_labels(*held.points, held.plan, found.labels, found.centroids.view(), options);
  result.centroids = std::move(balanced.centroids);
  result.labels = std::move(balanced.labels);
  result.distances = std::move(balanced.distances);
  result.counts = std::move(balanced.counts);
  result.inertia_per_cluster = std::move(balanced.inertia_per_cluster);
  result.nearest_row = std::move(balanced.nearest_row);
  result.medoids = std::move(balanced.medoids);
  result.inertia = balanced.inertia;
  result.empty_clusters = balanced.empty_clusters;
}

/// Warns of clusters for which is_beyond(count) is true.
template <class Beyond>
void warn_of_sizes(const KMeansResult& result, const std::string& limit, const Beyond& is_beyond, Job& job) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> violating;
  for (std::size_t c = 0; c < result.counts.size(); ++c) {
    if (is_beyond(result.counts[c])) violating.push_back(fmt::format("{} ({})", c, result.counts[c]));
  }
  if (violating.empty()) return;
  const std::size_t named = std::min(violating.size(), kMostNamed);
  job.progress.warning(fmt::format(
      "{}: {} of {} clusters violate it: {}{}; --balance keeps it", limit, violating.size(), result.counts.size(),
      fmt::join(violating.begin(), violating.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      named < violating.size() ? ", ..." : ""));
}

void warn_of_passes(const HeldPoints& held, const KMeansOptions& options, Job& job) {
  constexpr std::int64_t kFew = 10;
  if (!held.in_passes || options.init != Init::kmeans_plus_plus || options.given.rows > 0) return;
  const std::int64_t passes = kmeans_work(options).at(1).passes;
  if (passes <= kFew) return;
  job.progress.warning(
      fmt::format("k-means++ reads the rows that are not in memory {} times before the first "
                  "iteration; --init k-means|| reads them a few times, --init random once",
                  passes));
}

}  // namespace

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
              .stored = {Stored::if_changed, position::kVariant},
              .no_effect = {when(bisecting, "--algorithm bisecting produces no empty clusters")}},
             {"relocate", "keep", "drop", "error"}, options.empty);
  set.text({.names = "--freeze",
            .value = "FILE[:DATASET]",
            .help = "Fixed centroids. They count towards K; --init supplies the rest.",
            .input = Input::file,
            .stored = {Stored::if_changed, position::kVariant},
            .refused = {when(bisecting,
                             "--freeze cannot be combined with --algorithm bisecting, which moves all centroids; leave "
                             "one of them out")}},
           options.freeze);
  set.flag({.names = "--medoids",
            .help = "Also write the point nearest to each centroid as medoid (this is not PAM).",
            .stored = {Stored::if_changed, position::kExtra},
            .no_effect = unwritten},
           options.medoids);
  set.integer(
      {.names = "--batch",
       .value = "N",
       .help =
           "Start with mini-batches of N random points, or of all if there are fewer. Cannot be combined with weights.",
       .shown_default = "none",
       .stored = {Stored::if_changed, position::kVariant},
       .refused = {when(weighted, "--batch cannot be combined with weights; leave one of them out"),
                   when(bisecting,
                        "--batch cannot be combined with --algorithm bisecting, which splits all rows at "
                        "once; leave one of them out")}},
      {1, kMost}, options.batch);
  set.integer({.names = "--epochs",
               .value = "E",
               .help = "Number of passes over all points in batches.",
               .stored = {Stored::if_used, position::kVariant},
               .no_effect = {no_batch}},
              {1, 1'000'000}, options.epochs);
  set.flag({.names = "--no-finish",
            .help = "Skip the iterations over all points after the batches.",
            .stored = {Stored::if_used, position::kVariant},
            .no_effect = {no_batch}},
           options.no_finish);
  set.choice(
      {.names = "--algorithm",
       .value = "NAME",
       .help = "lloyd, or bisecting: split one cluster in two by k-means until there are K. bisecting cannot be "
               "combined with weights.",
       .stored = {Stored::if_changed, position::kVariant},
       .refused = {when(weighted, "--algorithm bisecting cannot be combined with weights; leave one of them out")}},
      {"lloyd", "bisecting"}, options.algorithm);
  set.choice({.names = "--bisect",
              .value = "BY",
              .help = "Which cluster to split: that with the largest inertia, or size.",
              .stored = {Stored::if_used, position::kVariant},
              .no_effect = {when([bisecting] { return !bisecting(); }, "--algorithm is lloyd")}},
             {"inertia", "size"}, options.bisect);
  set.integer({.names = "--min-size",
               .value = "N",
               .help = "Warn about clusters with fewer points; with --balance, prevent them.",
               .shown_default = "none",
               .stored = {Stored::if_changed, position::kVariant}},
              {1, kMost}, options.sizes.smallest);
  set.integer({.names = "--max-size",
               .value = "N",
               .help = "Warn about clusters with more points; with --balance, prevent them.",
               .shown_default = "none",
               .stored = {Stored::if_changed, position::kVariant}},
              {1, kMost}, options.sizes.largest);
  set.flag(
      {.names = "--balance",
       .help =
           "Enforce --min-size and --max-size: after the iterations, reassign rows within these limits at the lowest "
           "inertia. Cannot be combined with weights.",
       .stored = {Stored::if_used, position::kVariant},
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
  auto frozen = open_centroids_for(points, {"--freeze", options.freeze}, common);
  if (frozen->columns() == columns) return frozen;
  throw Error(ExitCode::usage,
              fmt::format("--freeze {}: expected centroids of {} column{}, as {} has{}, found {} x {}; "
                          "give centroids of points like these",
                          options.freeze, columns, columns == 1 ? "" : "s", points.name(),
                          columns == points.columns() ? "" : " after --pca", frozen->rows(), frozen->columns()));
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

bool is_plain(const VariantOptions& options) {
  return !options.is_bisecting() && options.batch == 0 && !(options.balance && options.sizes.given());
}

VariantRun run_variant(HeldPoints& held, const KMeansOptions& kmeans_options, const VariantOptions& options, Job& job) {
  const RowStore store(held.rows(), *held.backend);
  VariantRun run;
  KMeansOptions plain = kmeans_options;
  warn_of_passes(held, plain, job);
  if (options.batch > 0) {
    plain.batch = {.rows = options.batch, .epochs = options.epochs, .finish = !options.no_finish, .store = &store};
  }
  if (options.is_bisecting()) {
    const SplitBy by = options.bisect == "size" ? SplitBy::size : SplitBy::inertia;
    BisectingResult split = bisecting_kmeans(*held.points, store, held.plan, plain, by, job.progress);
    run.result = std::move(split.result);
    run.tree = std::move(split.tree);
  } else {
    run.result = kmeans(*held.points, held.plan, plain, job.progress);
  }
  if (!options.sizes.given()) return run;
  if (options.balance) {
    balance_sizes(held, store, plain, options.sizes, run, job.progress);
    return run;
  }
  const std::int64_t smallest = options.sizes.smallest, largest = options.sizes.largest;
  warn_of_sizes(
      run.result, fmt::format("--min-size {}", smallest), [&](std::int64_t count) { return count < smallest; }, job);
  warn_of_sizes(
      run.result, fmt::format("--max-size {}", largest),
      [&](std::int64_t count) { return largest > 0 && count > largest; }, job);
  return run;
}

std::string method_of(const VariantRun& run, const VariantOptions& options, std::int64_t rows) {
  std::vector<std::string> parts;
  if (options.batch > 0) {
    const std::int64_t batches = (rows + options.batch - 1) / options.batch * options.epochs;
    parts.push_back(
        fmt::format("{} batches of {} rows, {} epochs, {}", batches, std::min(options.batch, rows), options.epochs,
                    options.no_finish ? "without iterations over all rows" : "then iterations over all rows"));
  }
  if (options.is_bisecting()) {
    parts.push_back(fmt::format("bisecting by {}, {:g} splits; splits never exchange rows", options.bisect,
                                run.result.stopped_value));
  }
  if (options.balance && options.sizes.given()) {
    parts.push_back(fmt::format("{} rows moved to balance sizes, in {} step{}; the inertia was {} before", run.moved,
                                run.balancing_steps, run.balancing_steps == 1 ? "" : "s", run.nearest_inertia));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void write_variant(data::ResultFile& file, const VariantOptions& options, const VariantRun& run,
                   std::int64_t clusters) {
  const KMeansResult& result = run.result;
  if (empty_rule(options) == EmptyRule::drop) file.attribute("dropped_clusters", clusters - result.centroids.rows());
  if (!options.freeze.empty()) {
    file.attribute("freeze", stored_name(options.freeze));
    file.attribute("frozen", result.frozen);
  }
  if (options.medoids) file.dataset("medoids", result.medoids.view());
  if (options.batch > 0) {
    file.attribute("batch", options.batch);
    file.attribute("epochs", options.epochs);
  }
  if (options.is_bisecting()) {
    file.attribute("algorithm", options.algorithm);
    file.dataset("tree_parent", std::span<const std::int64_t>(run.tree.parent));
    file.dataset("tree_first_child", std::span<const std::int64_t>(run.tree.first_child));
    file.dataset("tree_cluster", std::span<const std::int64_t>(run.tree.cluster));
    file.dataset("tree_count", std::span<const std::int64_t>(run.tree.count));
    file.dataset("tree_inertia", std::span<const double>(run.tree.inertia));
  }
  if (options.balance && options.sizes.given()) {
    file.attribute("balanced_rows", run.moved);
    file.attribute("nearest_inertia", run.nearest_inertia);
  }
}

namespace {

/// Rows (k, d), or nothing, in this order.
void reorder(Matrix<double>& rows, const std::vector<std::int64_t>& order) {
  if (rows.rows() == 0) return;
  const Matrix<double> before = copied(std::as_const(rows).view());
  for (std::int64_t c = 0; c < rows.rows(); ++c) {
    const auto row = before.row(order[static_cast<std::size_t>(c)]);
    std::copy(row.begin(), row.end(), rows.row(c).begin());
  }
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::int64_t>& order) {
  const std::vector<T> before = values;
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = before[static_cast<std::size_t>(order[c])];
}

}  // namespace

void renumber(VariantRun& run, const std::vector<std::int64_t>& order) {
  KMeansResult& result = run.result;
  for (Matrix<double>* rows : {&result.centroids, &result.medoids}) reorder(*rows, order);
  for (auto* values : {&result.counts, &result.nearest_row}) reorder(*values, order);
  for (auto* values : {&result.weights, &result.inertia_per_cluster}) reorder(*values, order);
  std::vector<std::int32_t> number(order.size());
  for (std::size_t c = 0; c < order.size(); ++c) {
    number[static_cast<std::size_t>(order[c])] = static_cast<std::int32_t>(c);
  }
  for (std::int32_t& label : result.labels) {
    if (label >= 0) label = number[static_cast<std::size_t>(label)];
  }
  for (std::int64_t& cluster : run.tree.cluster) {
    if (cluster >= 0) cluster = number[static_cast<std::size_t>(cluster)];
  }
}

std::string progress_of(const KMeansResult& result, int runs) {
  if (runs == 1) return fmt::format("{} iteration{}", result.iterations, result.iterations == 1 ? "" : "s");
  const auto finished = [](const RunRecord& run) { return run.stopped_by != "interrupted"; };
  return fmt::format("{} of {} runs", std::count_if(result.runs.begin(), result.runs.end(), finished), runs);
}

}  // namespace kith::app
